// An operator's signature, parsed from the text that PyTorch prints: "aten::add.Tensor(Tensor self,
// Tensor other, *, Scalar alpha=1) -> Tensor". The compiler parses the rows of the table, so a
// misspelt text does not compile. The texts of custom operators are untrusted; they are parsed at
// run time.
#ifndef PT2_OPS_SIGNATURE_H
#define PT2_OPS_SIGNATURE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "pt2/ops/boxing.h"

namespace pt2::ops {

struct Parameter {
  std::string_view name;
  std::string_view default_text;
  std::string_view class_name;  // if BaseType::object: "__torch__.torch.classes.mine.Table"
  ArgumentType type;
  bool has_default = false;
  bool keyword_only = false;
  bool mutated = false;  // Tensor(a!)
  bool aliased = false;  // Tensor(a): a result may share its storage
};

// A view of the text and of lists; these live as long as the operator.
struct Signature {
  std::string_view text;
  std::string_view name;      // aten::add
  std::string_view overload;  // Tensor; empty for the default overload
  const Parameter* parameter_array = nullptr;
  const ArgumentType* return_array = nullptr;
  uint8_t parameter_count = 0;
  uint8_t return_count = 0;

  constexpr const Parameter* begin() const { return parameter_array; }
  constexpr const Parameter* end() const { return parameter_array + parameter_count; }
  constexpr bool is_mutable() const {
    for (const Parameter& parameter : *this)
      if (parameter.mutated) return true;
    return false;
  }
  constexpr bool may_alias() const {
    for (const Parameter& parameter : *this)
      if (parameter.aliased || parameter.mutated) return true;
    return false;
  }
  constexpr const Parameter* find(std::string_view parameter_name) const {
    for (const Parameter& parameter : *this)
      if (parameter.name == parameter_name) return &parameter;
    return nullptr;
  }
};

// "torch.ops.aten.add.Tensor" for "aten::add" and "Tensor".
std::string target_of(const Signature& signature);

struct ParsedSignature {
  // PyTorch's longest signatures have 30 parameters and 9 results.
  static constexpr size_t kMaxParameters = 64;
  static constexpr size_t kMaxReturns = 16;
  std::string_view text;
  std::string_view name;
  std::string_view overload;
  std::array<Parameter, kMaxParameters> parameters{};
  std::array<ArgumentType, kMaxReturns> returns{};
  uint8_t parameter_count = 0;
  uint8_t return_count = 0;
  // The first fault and its position in the text; null if there is no fault.
  const char* fault = nullptr;
  size_t fault_position = 0;
};

class SignatureParser {
 public:
  constexpr explicit SignatureParser(std::string_view text) { out_.text = text; }

  constexpr ParsedSignature parse() {
    out_.name = path(':');
    if (out_.name.empty()) fail("expected a name");
    if (eat(".")) out_.overload = word();
    need("(", "expected '('");
    parse_parameters();
    need("->", "expected '->'");
    parse_returns();
    skip_spaces();
    if (position_ != text().size()) fail("expected nothing more");
    return out_;
  }

 private:
  constexpr std::string_view text() const { return out_.text; }
  constexpr bool failed() const { return out_.fault != nullptr; }
  constexpr void fail(const char* fault) { fail_at(fault, position_); }
  constexpr void fail_at(const char* fault, size_t position) {
    if (failed()) return;
    out_.fault = fault;
    out_.fault_position = position;
  }

  constexpr char peek() const { return position_ < text().size() ? text()[position_] : '\0'; }
  constexpr void skip_spaces() {
    while (peek() == ' ') ++position_;
  }
  constexpr bool eat(std::string_view token) {
    skip_spaces();
    if (text().substr(position_, token.size()) != token) return false;
    position_ += token.size();
    return true;
  }
  constexpr void need(std::string_view token, const char* fault) {
    if (!eat(token)) fail(fault);
  }
  // Reads the items of a list up to `close`.
  template <class Item>
  constexpr void list_until(std::string_view close, Item item) {
    if (eat(close)) return;
    do {
      item();
    } while (!failed() && eat(","));
    need(close, "expected ',' or the end of the list");
  }

  static constexpr bool is_word(char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  }
  constexpr std::string_view path(char separator) {
    skip_spaces();
    const size_t begin = position_;
    while (is_word(peek()) || peek() == separator) ++position_;
    return text().substr(begin, position_ - begin);
  }
  // A word of letters, digits and '_'.
  constexpr std::string_view word() { return path('_'); }

  constexpr BaseType base_type(std::string_view name, size_t position) {
    struct Row {
      std::string_view name;
      BaseType base;
    };
    constexpr Row kNames[] = {
        {"Tensor", BaseType::tensor},    {"SymInt", BaseType::integer},
        {"int", BaseType::integer},      {"float", BaseType::number},
        {"SymFloat", BaseType::number},  {"bool", BaseType::boolean},
        {"SymBool", BaseType::boolean},  {"Scalar", BaseType::scalar},
        {"ScalarType", BaseType::dtype}, {"Layout", BaseType::layout},
        {"Device", BaseType::device},    {"MemoryFormat", BaseType::memory_format},
        {"str", BaseType::string},       {"Generator", BaseType::generator}};
    for (const Row& row : kNames)
      if (row.name == name) return row.base;
    if (name.starts_with("__torch__.")) return BaseType::object;
    fail_at("found a type that is not supported here", position);
    return BaseType::tensor;
  }

  // Alias annotations: (a!), (a -> *). The caller has read the '('.
  constexpr void parse_alias(Parameter& parameter) {
    parameter.aliased = true;
    while (peek() != ')') {
      if (peek() == '\0') return fail("expected ')'");
      if (peek() == '!') parameter.mutated = true;
      ++position_;
    }
    ++position_;
  }
  constexpr void parse_list_size(ArgumentType& type) {
    int size = 0;
    for (; peek() >= '0' && peek() <= '9'; ++position_)
      if (size <= UINT8_MAX) size = size * 10 + (peek() - '0');
    if (size > UINT8_MAX) return fail("found a list size above 255");
    type.list_size = static_cast<uint8_t>(size);
    need("]", "expected ']'");
  }
  // Reads the type of a parameter, or the type of a result into a temporary `parameter`.
  constexpr void parse_type(Parameter& parameter) {
    ArgumentType& type = parameter.type;
    skip_spaces();
    const size_t begin = position_;
    const std::string_view name = path('.');
    type.base = base_type(name, begin);
    if (type.base == BaseType::object) parameter.class_name = name;
    if (eat("(")) parse_alias(parameter);
    if (eat("?")) type.optional = true;
    if (!eat("[")) return;
    type.list = true;
    type.optional_element = type.optional;
    parse_list_size(type);
    type.optional = eat("?");
    if (eat("[")) fail("found a list of lists, which is not supported here");
  }

  constexpr void parse_parameters() {
    bool keyword_only = false;
    list_until(")", [&] {
      if (eat("*")) {
        if (keyword_only) fail("found '*' twice");
        keyword_only = true;
        return;
      }
      if (out_.parameter_count == ParsedSignature::kMaxParameters)
        return fail("found more parameters than are supported here");
      Parameter& parameter = out_.parameters[out_.parameter_count++];
      parse_type(parameter);
      parameter.keyword_only = keyword_only;
      skip_spaces();
      const size_t begin = position_;
      parameter.name = word();
      if (parameter.name.empty()) fail("expected the name of a parameter");
      for (size_t i = 0; i + 1 < out_.parameter_count; ++i)
        if (out_.parameters[i].name == parameter.name) fail_at("found a name twice", begin);
      if (eat("=")) parse_default(parameter);
    });
  }

  constexpr void parse_default(Parameter& parameter) {
    parameter.has_default = true;
    skip_spaces();
    const size_t begin = position_;
    int depth = 0;
    char quote = '\0';
    for (; quote != '\0' || depth > 0 || (peek() != ',' && peek() != ')'); ++position_) {
      const char c = peek();
      if (c == '\0') return fail("expected the end of the default");
      if (quote == c) {
        quote = '\0';
      } else if (quote == '\0') {
        if (c == '"' || c == '\'') quote = c;
        if (c == '[') ++depth;
        if (c == ']') --depth;
      }
    }
    parameter.default_text = text().substr(begin, position_ - begin);
    while (parameter.default_text.ends_with(' ')) parameter.default_text.remove_suffix(1);
    if (parameter.default_text.empty()) fail_at("expected a default", begin);
  }

  constexpr void parse_returns() {
    if (eat("("))
      list_until(")", [&] { add_return(); });
    else
      add_return();
  }
  constexpr void add_return() {
    if (out_.return_count == ParsedSignature::kMaxReturns)
      return fail("found more results than are supported here");
    Parameter result;
    parse_type(result);
    out_.returns[out_.return_count++] = result.type;
    word();
  }

  ParsedSignature out_;
  size_t position_ = 0;
};

// For constant evaluation: the throw becomes a compile-time error at the row that holds the text.
constexpr ParsedSignature parse_or_throw(std::string_view text) {
  ParsedSignature parsed = SignatureParser(text).parse();
  if (parsed.fault != nullptr) throw "bad signature";
  return parsed;
}

}  // namespace pt2::ops

#endif  // PT2_OPS_SIGNATURE_H
