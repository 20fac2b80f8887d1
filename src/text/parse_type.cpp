#include <fmt/format.h>

#include "base/text.h"
#include "text/parser.h"
#include "text/vocabulary.h"

namespace pt2 {
namespace {

template <class T>
Result<T> parse_hint(TextReader& reader) {
  const size_t offset = reader.current().offset;
  const auto hint = parse_literal<T>(reader.expression());
  if (!hint) {
    return reader.error_at(offset, ErrorCode::malformed,
                           "found something other than a number that the expression may have");
  }
  return *hint;
}

// Parses a number, or an expression with or without quotes, with its hint.
template <class T>
Result<Symbolic<T>> parse_symbolic(Parsing& parsing) {
  TextReader& reader = parsing.reader;
  const size_t offset = reader.current().offset;
  Result<const SpelledExpr*> expression = nullptr;
  if (reader.current().kind == TokenKind::string) {
    PT2_TRY(const std::string text, reader.string());
    expression = parsing.expressions->read_quoted(text);
  } else {
    const std::string_view text = reader.expression();
    if (text.empty()) return reader.unexpected("a number or an expression");
    if (const auto literal = parse_literal<T>(text)) return Symbolic<T>(*literal);
    expression = parsing.expressions->read(text);
  }
  if (!expression) return reader.placed(std::move(expression).error(), offset);
  if (!reader.accept("{"))
    return Symbolic<T>(*expression, hint_as<T>(parsing.expressions->hint(*expression)));
  if (reader.accept("}")) return Symbolic<T>(*expression, std::nullopt);
  PT2_TRY(const T hint, parse_hint<T>(reader));
  PT2_TRY_VOID(reader.expect("}"));
  return Symbolic<T>(*expression, hint);
}

// Parses [a, b].
Result<std::vector<SymInt>> parse_sizes(Parsing& parsing) {
  TextReader& reader = parsing.reader;
  PT2_TRY_VOID(reader.expect("["));
  std::vector<SymInt> sizes;
  while (!reader.at("]")) {
    PT2_TRY(SymInt size, parse_symbolic<int64_t>(parsing));
    sizes.push_back(size);
    if (!reader.accept(",")) break;
  }
  PT2_TRY_VOID(reader.expect("]"));
  return sizes;
}

// Parses [a].
template <class T>
Result<Symbolic<T>> parse_in_brackets(Parsing& parsing) {
  PT2_TRY_VOID(parsing.reader.expect("["));
  PT2_TRY(Symbolic<T> value, parse_symbolic<T>(parsing));
  PT2_TRY_VOID(parsing.reader.expect("]"));
  return value;
}

Result<void> parse_strides(Parsing& parsing, TensorMeta& meta) {
  PT2_TRY(meta.strides, parse_sizes(parsing));
  return {};
}
Result<void> parse_offset(Parsing& parsing, TensorMeta& meta) {
  PT2_TRY(meta.storage_offset, parse_in_brackets<int64_t>(parsing));
  return {};
}
Result<void> parse_tensor_device(Parsing& parsing, TensorMeta& meta) {
  PT2_TRY(meta.device, parse_device(parsing));
  return {};
}
Result<void> parse_tensor_layout(Parsing& parsing, TensorMeta& meta) {
  PT2_TRY(meta.layout, parse_layout(parsing));
  return {};
}

struct TensorAttribute {
  std::string_view word;
  Result<void> (*parse)(Parsing& parsing, TensorMeta& meta);  // called after '='
};
constexpr TensorAttribute kTensorAttributes[] = {{"strides", parse_strides},
                                                 {"storage_offset", parse_offset},
                                                 {"device", parse_tensor_device},
                                                 {"layout", parse_tensor_layout}};

const TensorAttribute* find_attribute(const TextReader& reader) {
  for (const TensorAttribute& attribute : kTensorAttributes)
    if (reader.at_word(attribute.word) && reader.next_is("=")) return &attribute;
  return nullptr;
}

Result<TensorMeta> parse_tensor(Parsing& parsing) {
  TextReader& reader = parsing.reader;
  TensorMeta meta;
  const size_t offset = reader.current().offset;
  PT2_TRY(meta.dtype, parse_dtype(parsing));
  PT2_TRY(meta.sizes, parse_sizes(parsing));
  bool has_strides = false;
  while (true) {
    if (reader.accept_word("requires_grad")) {
      meta.requires_grad = true;
      continue;
    }
    const TensorAttribute* attribute = find_attribute(reader);
    if (attribute == nullptr) break;
    has_strides |= attribute->word == "strides";
    reader.advance();
    PT2_TRY_VOID(reader.expect("="));
    PT2_TRY_VOID(attribute->parse(parsing, meta));
  }
  PT2_TRY_VOID(parsing.spelling<schema::TensorMeta>(meta.spelling));
  if (has_strides) return meta;
  const auto strides = contiguous_strides(meta.sizes);
  if (!strides) {
    return reader.error_at(offset, ErrorCode::invalid,
                           "found no strides=[...], which only tensors whose sizes but the first "
                           "are numbers may leave out");
  }
  meta.strides.assign(strides->begin(), strides->end());
  return meta;
}

Result<CustomObjectType> parse_object(Parsing& parsing, const std::string& value_name) {
  CustomObjectType type{.name = value_name};
  PT2_TRY(type.class_fqn, parsing.reader.string());
  if (parsing.reader.current().kind == TokenKind::string) {
    PT2_TRY(type.name, parsing.reader.string());
  }
  return type;
}

// Parses the number in parentheses after the current word: dtype(99).
Result<int64_t> parse_number(TextReader& reader) {
  reader.advance();
  PT2_TRY_VOID(reader.expect("("));
  PT2_TRY(const int64_t number, reader.integer());
  PT2_TRY_VOID(reader.expect(")"));
  return number;
}

}  // namespace

Result<ScalarType> parse_dtype(Parsing& parsing) {
  TextReader& reader = parsing.reader;
  if (reader.at_word("dtype")) {
    PT2_TRY(const int64_t number, parse_number(reader));
    return ScalarType{number};
  }
  const auto dtype = reader.current().kind == TokenKind::word ? find_dtype(reader.current().text)
                                                              : std::optional<Dtype>();
  if (!dtype) return reader.unexpected("a dtype such as f32");
  reader.advance();
  return ScalarType{dtype_info(*dtype).schema_number};
}

Result<Layout> parse_layout(Parsing& parsing) {
  TextReader& reader = parsing.reader;
  const size_t offset = reader.current().offset;
  if (reader.at_word("layout")) {
    PT2_TRY(const int64_t number, parse_number(reader));
    if (number < 0 || number > UINT8_MAX)
      return reader.error_at(offset, ErrorCode::invalid, "expected a number from 0 to 255");
    return static_cast<Layout>(number);
  }
  const auto layout = reader.current().kind == TokenKind::word ? find_layout(reader.current().text)
                                                               : std::optional<Layout>();
  if (!layout) return reader.unexpected("a layout such as strided");
  reader.advance();
  return *layout;
}

Result<Device> parse_device(Parsing& parsing) {
  Device device;
  PT2_TRY(device.type, parsing.reader.word_or_string("a device such as cuda:0"));
  if (parsing.reader.accept(":")) {
    PT2_TRY(device.index, parsing.reader.integer());
  }
  return device;
}

Result<ValueScope::Meta> parse_value_type(Parsing& parsing, const std::string& value_name) {
  using Meta = ValueScope::Meta;
  TextReader& reader = parsing.reader;
  if (reader.accept_word("SymInt")) {
    PT2_TRY(SymInt value, parse_in_brackets<int64_t>(parsing));
    return Meta(value);
  }
  if (reader.accept_word("SymFloat")) {
    PT2_TRY(SymFloat value, parse_in_brackets<double>(parsing));
    return Meta(value);
  }
  if (reader.accept_word("SymBool")) {
    PT2_TRY(SymBool value, parse_in_brackets<bool>(parsing));
    return Meta(value);
  }
  if (reader.accept_word("object")) {
    PT2_TRY(CustomObjectType type, parse_object(parsing, value_name));
    return Meta(std::move(type));
  }
  PT2_TRY(TensorMeta meta, parse_tensor(parsing));
  return Meta(std::move(meta));
}

}  // namespace pt2
