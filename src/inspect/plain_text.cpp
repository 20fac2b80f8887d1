#include "inspect/plain_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash/sha256.h"
#include "base/printable.h"
#include "base/text.h"
#include "ir/target.h"
#include "pt2/ir/type_text.h"

namespace pt2 {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

class ArgumentText {
 public:
  ArgumentText(std::string& out, const ArgumentNames& names) : out_(out), names_(names) {}

  void append(const Argument& argument) { std::visit(*this, argument.variant); }

  void operator()(None) const { out_ += "none"; }
  void operator()(ValueId id) const { out_ += names_.value(id); }
  void operator()(bool value) const { out_ += value ? "true" : "false"; }
  void operator()(int64_t value) const { append_int(out_, value); }
  void operator()(double value) const { append_float(out_, value); }
  void operator()(std::complex<double> value) const {
    out_ += fmt::format("complex({}, {})", print_float(value.real()), print_float(value.imag()));
  }
  void operator()(const std::string& value) const { append_json_string(out_, value); }
  void operator()(ScalarType value) const { out_ += dtype_text(value); }
  void operator()(MemoryFormat value) const {
    out_ += fmt::format("memory_format {}", static_cast<int>(value));
  }
  void operator()(Layout value) const { out_ += fmt::format("layout {}", static_cast<int>(value)); }
  void operator()(const Device& value) const {
    out_ += "device ";
    append_word(value.type);
    if (value.index) out_ += fmt::format(":{}", *value.index);
  }
  void operator()(const OperatorName& value) const { append_word(short_target(value.target)); }
  void operator()(SubgraphId id) const { out_ += names_.subgraph(id); }
  void operator()(const CustomObject& value) const {
    out_ += "object ";
    append_word(value.class_fqn);
  }
  void operator()(const ArgumentList& list) {
    out_ += '[';
    for (size_t i = 0; i < list.items.size(); ++i) {
      if (i != 0) out_ += ", ";
      append(list.items[i]);
    }
    out_ += ']';
  }
  void operator()(const ArgumentMap& map) {
    out_ += '{';
    for (size_t i = 0; i < map.items.size(); ++i) {
      if (i != 0) out_ += ", ";
      append_json_string(out_, map.items[i].first);
      out_ += ": ";
      append(map.items[i].second);
    }
    out_ += '}';
  }
  void operator()(const UnknownArgument& value) const {
    append_word(value.tag);
    out_ += ' ';
    append_json_string(out_, value.json);
  }

 private:
  // Quotes a word of the file that could be taken for several words.
  void append_word(std::string_view word) const {
    const auto is_plain = [](char c) { return is_word(c) || c == '.' || c == ':'; };
    if (!word.empty() && std::ranges::all_of(word, is_plain))
      out_ += word;
    else
      append_json_string(out_, word);
  }

  std::string& out_;
  const ArgumentNames& names_;
};

std::string type_text(const GraphValue& value, SymbolNames& symbols) {
  if (const auto* object = std::get_if<CustomObjectType>(&value.meta)) return object->class_fqn;
  if (const auto* number = std::get_if<SymInt>(&value.meta)) return "int " + symbols.text(*number);
  const TensorMeta* meta = value.tensor();
  if (meta == nullptr) return std::string(value_kind_name(value.kind()));
  std::string out = dtype_text(meta->dtype) + "[";
  for (size_t i = 0; i < meta->sizes.size(); ++i)
    out += (i == 0 ? "" : ", ") + symbols.text(meta->sizes[i]);
  return out + "]";
}

}  // namespace

std::string_view SymbolNames::name(const std::string& symbol) {
  const auto known = names_.find(symbol);
  if (known != names_.end()) return known->second;
  if (!numbers_) return symbol;
  return names_.emplace(symbol, fmt::format("s{}", next_++)).first->second;
}

std::string SymbolNames::text(Expr expr) {
  std::map<std::string, std::string, std::less<>> renamed;
  for (const SymbolId id : free_symbols(expr)) {
    const std::string symbol = pool_.symbol_name(id);
    renamed.emplace(symbol, name(symbol));
  }
  const std::string text = print_expr(expr);
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::string_view word = std::string_view(text).substr(i, std::max<size_t>(end - i, 1));
    const auto found = renamed.find(word);
    out += found == renamed.end() ? word : std::string_view(found->second);
    i += word.size();
  }
  return out;
}

std::string SymbolNames::text(const SymInt& size) {
  return size.is_symbolic() ? text(size.expr()) : std::to_string(size.literal());
}

const std::string& SymbolNames::type(const GraphValue& value) {
  const auto [found, is_new] = types_.try_emplace(&value);
  if (is_new) found->second = told_apart(type_text(value, *this));
  return found->second;
}

void append_argument(std::string& out, const Argument& argument, const ArgumentNames& names) {
  ArgumentText(out, names).append(argument);
}

const std::string& plain_type(const GraphValue& value, SymbolNames& symbols) {
  return symbols.type(value);
}

std::string told_apart(std::string text) {
  constexpr size_t kMaxText = 2000;
  if (text.size() <= kMaxText) return text;
  Sha256 sum;
  sum.add(text);
  return printable(text, kMaxText / 2) + sum.hex();
}

}  // namespace pt2
