#include "ops/bind.h"

#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>

#include "ops/loops.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

std::string type_name(const ArgumentType& type) {
  constexpr std::string_view kNames[] = {"Tensor",       "int",        "float",    "bool",
                                         "Scalar",       "ScalarType", "Layout",   "Device",
                                         "MemoryFormat", "str",        "Generator"};
  std::string out(kNames[static_cast<size_t>(type.base)]);
  if (type.optional_element) out += '?';
  if (type.list) out += "[]";
  if (type.optional) out += '?';
  return out;
}

bool fits_base(BaseType base, const Value& value) {
  switch (base) {
    case BaseType::tensor:
      return value.is<Tensor>();
    case BaseType::integer:
      return value.is<int64_t>();
    case BaseType::number:
      return value.is<double>() || value.is<int64_t>();
    case BaseType::boolean:
      return value.is<bool>();
    case BaseType::scalar:
      return value.is<int64_t>() || value.is<double>() || value.is<bool>() ||
             value.is<std::complex<double>>();
    case BaseType::dtype:
      return value.is<Dtype>();
    case BaseType::layout:
      return value.is<Layout>();
    case BaseType::device:
      return value.is<Device>();
    case BaseType::memory_format:
      return value.is<MemoryFormat>();
    case BaseType::string:
      return value.is<std::string>();
    case BaseType::generator:
      return value.is_none();
  }
  return false;
}

// torch 2.1 writes some dtypes as plain ints, which are c10::ScalarType's numbers.
std::optional<Dtype> dtype_of_c10_number(int64_t number) {
  constexpr Dtype kByNumber[] = {Dtype::uint8,     Dtype::int8,       Dtype::int16,
                                 Dtype::int32,     Dtype::int64,      Dtype::float16,
                                 Dtype::float32,   Dtype::float64,    Dtype::complex32,
                                 Dtype::complex64, Dtype::complex128, Dtype::bool_};
  constexpr int64_t kBfloat16 = 15;
  if (number == kBfloat16) return Dtype::bfloat16;
  if (number < 0 || number >= static_cast<int64_t>(std::size(kByNumber))) return std::nullopt;
  return kByNumber[number];
}

// Python's conversions of one element: True is 1 for an int, a number is a tensor where one is
// taken.
bool fit_element(BaseType base, Value& value) {
  if (fits_base(base, value)) return true;
  if (base == BaseType::tensor && fits_base(BaseType::scalar, value)) {
    value = Value(number_tensor(unbox<Scalar>(value)));
    return true;
  }
  if (const auto* number = value.get_if<int64_t>(); number != nullptr && base == BaseType::dtype) {
    const auto dtype = dtype_of_c10_number(*number);
    if (dtype) value = Value(*dtype);
    return dtype.has_value();
  }
  const bool* boolean = value.get_if<bool>();
  if (boolean != nullptr && (base == BaseType::integer || base == BaseType::number)) {
    value = Value(int64_t{*boolean});
    return true;
  }
  return false;
}

Value parse_default_element(BaseType base, std::string_view text) {
  // Enums are printed as c10's numbers: 4 is long, 0 the contiguous format.
  if (base == BaseType::dtype) return text == "4" ? Value(Dtype::int64) : Value(Dtype::float32);
  if (base == BaseType::memory_format)
    return Value(text == "0" ? MemoryFormat::contiguous : MemoryFormat::preserve);
  if (text == "True" || text == "False") return Value(text == "True");
  if (!text.empty() && (text.front() == '"' || text.front() == '\''))
    return Value(std::string(text.substr(1, text.size() - 2)));
  if (base == BaseType::string) return Value(std::string(text));
  if (text == "inf") return Value(HUGE_VAL);
  int64_t integer = 0;
  const char* end = text.data() + text.size();
  if (auto [rest, code] = std::from_chars(text.data(), end, integer);
      code == std::errc() && rest == end)
    return Value(integer);
  if (text == "Mean") return Value(int64_t{1});
  double number = 0;
  std::from_chars(text.data(), end, number);
  return Value(number);
}

}  // namespace

Result<size_t> parameter_index(const Signature& signature, std::string_view argument_name,
                               size_t position) {
  if (argument_name.empty()) {
    if (position < signature.parameter_count) return position;
    return operator_error("argument " + std::to_string(position) + " is one too many for " +
                          std::string(signature.text));
  }
  for (size_t i = 0; i < signature.parameter_count; ++i)
    if (signature.parameter_array[i].name == argument_name) return i;
  return operator_error("unknown argument '" + std::string(argument_name) +
                        "', expected those of " + std::string(signature.text));
}

Result<Value> default_value(const Parameter& parameter) {
  if (!parameter.has_default) {
    if (parameter.type.base == BaseType::generator) return Value();
    return operator_error("missing argument '" + std::string(parameter.name) + "' of type " +
                          type_name(parameter.type));
  }
  std::string_view text = parameter.default_text;
  if (text == "None") return Value();
  if (text.starts_with('[')) {
    Value::List list;
    text = text.substr(1, text.size() - 2);
    while (!text.empty()) {
      const size_t comma = std::min(text.find(','), text.size());
      list.push_back(parse_default_element(parameter.type.base, text.substr(0, comma)));
      text.remove_prefix(std::min(comma + 1, text.size()));
      while (text.starts_with(' ')) text.remove_prefix(1);
    }
    return coerce(parameter, Value(std::move(list)));
  }
  return coerce(parameter, parse_default_element(parameter.type.base, text));
}

Result<Value> coerce(const Parameter& parameter, Value value) {
  const ArgumentType& type = parameter.type;
  auto mismatch = [&] {
    return operator_error("argument '" + std::string(parameter.name) + "': found " +
                          value.type_text() + ", expected " + type_name(type));
  };
  if (type.base == BaseType::generator) return Value();
  if (value.is_none()) {
    if (type.optional) return value;
    return mismatch();
  }
  if (!type.list) {
    // A list of one stands for its element where symbolic values were flattened; Python has no such
    // rule.
    if (!fit_element(type.base, value)) return mismatch();
    return value;
  }
  if (!value.is<Value::List>()) {
    // int[2] takes one int for all; int[1] too. Without a size only a list will do, except dim=0
    // for int[].
    if (!fit_element(type.base, value)) return mismatch();
    const size_t count = type.list_size == 0 ? 1 : type.list_size;
    return Value(Value::List(count, value));
  }
  for (Value& item : *value.get_if<Value::List>()) {
    if (item.is_none() && type.optional_element) continue;
    if (!fit_element(type.base, item)) return mismatch();
  }
  return value;
}

}  // namespace pt2::ops
