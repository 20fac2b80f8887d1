// An operator's signature, parsed by the compiler from the text that PyTorch prints for it:
// "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor". A misspelt text does
// not compile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pt2::ops {

enum class BaseType : uint8_t {
  tensor,
  integer,
  number,
  boolean,
  scalar,
  dtype,
  layout,
  device,
  memory_format,
  string,
  generator
};

struct ArgumentType {
  BaseType base = BaseType::tensor;
  bool optional = false;
  bool list = false;
  bool optional_element = false;  // Tensor?[]
  uint8_t list_size = 0;          // int[2]: one int stands for two equal ones
  constexpr bool same_shape(const ArgumentType& other) const {
    return base == other.base && optional == other.optional && list == other.list &&
           optional_element == other.optional_element;
  }
};

struct Parameter {
  std::string_view name;
  std::string_view default_text;
  ArgumentType type;
  bool has_default = false;
  bool keyword_only = false;
  bool mutated = false;  // Tensor(a!)
  bool aliased = false;  // Tensor(a): a result may share its storage
};

struct Signature {
  static constexpr size_t kMaxParameters = 20;
  static constexpr size_t kMaxReturns = 10;
  std::string_view text;
  std::string_view name;      // aten::add
  std::string_view overload;  // Tensor; empty for the default one
  std::array<Parameter, kMaxParameters> parameter_array{};
  std::array<ArgumentType, kMaxReturns> return_array{};
  uint8_t parameter_count = 0;
  uint8_t return_count = 0;

  constexpr const Parameter* begin() const { return parameter_array.data(); }
  constexpr const Parameter* end() const { return parameter_array.data() + parameter_count; }
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

// A throw in here is a compile-time error at the row that holds the text.
class SignatureParser {
 public:
  constexpr explicit SignatureParser(std::string_view text) : text_(text) {}

  constexpr Signature parse() {
    Signature signature;
    signature.text = text_;
    signature.name = word();
    if (eat(".")) signature.overload = word();
    need("(");
    parse_parameters(signature);
    need("->");
    if (eat("(")) {
      while (!eat(")")) {
        add_return(signature);
        eat(",");
      }
    } else {
      add_return(signature);
    }
    if (position_ != text_.size()) throw "text after the signature";
    return signature;
  }

 private:
  constexpr void skip_spaces() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }
  constexpr bool eat(std::string_view token) {
    skip_spaces();
    if (text_.substr(position_, token.size()) != token) return false;
    position_ += token.size();
    return true;
  }
  constexpr void need(std::string_view token) {
    if (!eat(token)) throw "bad signature";
  }
  static constexpr bool is_word(char c) {
    return c == '_' || c == ':' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
  }
  constexpr std::string_view word() {
    skip_spaces();
    const size_t begin = position_;
    while (position_ < text_.size() && is_word(text_[position_])) ++position_;
    return text_.substr(begin, position_ - begin);
  }

  static constexpr BaseType base_type(std::string_view name) {
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
    throw "unknown type in the signature";
  }

  constexpr ArgumentType parse_type(bool& aliased, bool& mutated) {
    ArgumentType type;
    type.base = base_type(word());
    if (eat("(")) {
      aliased = true;
      for (; text_[position_] != ')'; ++position_)
        if (text_[position_] == '!') mutated = true;
      ++position_;
    }
    if (eat("?")) type.optional = true;
    if (eat("[")) {
      type.list = true;
      type.optional_element = type.optional;
      for (; text_[position_] != ']'; ++position_)
        type.list_size = static_cast<uint8_t>(type.list_size * 10 + (text_[position_] - '0'));
      ++position_;
      type.optional = eat("?");
    }
    return type;
  }

  constexpr void parse_parameters(Signature& signature) {
    bool keyword_only = false;
    while (!eat(")")) {
      if (eat("*")) {
        keyword_only = true;
      } else {
        Parameter& parameter = signature.parameter_array[signature.parameter_count++];
        parameter.type = parse_type(parameter.aliased, parameter.mutated);
        parameter.keyword_only = keyword_only;
        parameter.name = word();
        if (eat("=")) parse_default(parameter);
      }
      eat(",");
    }
  }

  constexpr void parse_default(Parameter& parameter) {
    parameter.has_default = true;
    skip_spaces();
    const size_t begin = position_;
    int depth = 0;
    while (depth > 0 || (text_[position_] != ',' && text_[position_] != ')')) {
      if (text_[position_] == '[') ++depth;
      if (text_[position_] == ']') --depth;
      ++position_;
    }
    parameter.default_text = text_.substr(begin, position_ - begin);
  }

  constexpr void add_return(Signature& signature) {
    bool aliased = false;
    bool mutated = false;
    signature.return_array[signature.return_count++] = parse_type(aliased, mutated);
    word();
  }

  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace pt2::ops
