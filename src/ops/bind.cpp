#include "ops/bind.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/platform.h"
#include "base/random_state.h"
#include "base/text.h"
#include "ops/loops.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

// torch.device rejects all other names (c10/core/Device.cpp, parse_type).
constexpr std::string_view kDeviceTypes[] = {
    "cpu", "cuda", "meta",   "mps", "xpu",    "hpu",    "mtia",   "xla",   "ipu",  "lazy",
    "hip", "maia", "vulkan", "ve",  "mkldnn", "opengl", "opencl", "ideep", "fpga", "privateuseone"};

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
    case BaseType::generator: {
      const Object* object = value.get_if<Object>();
      return object != nullptr && *object != nullptr && (*object)->class_name == kGeneratorClass;
    }
    case BaseType::object:
      return value.is<Object>();
  }
  return false;
}

// torch 2.1 writes some dtypes, and every release the defaults of signatures, as plain ints: the
// enumerators' numbers in c10::ScalarType.
std::optional<Dtype> dtype_of_c10_number(int64_t number) {
  constexpr Dtype kByNumber[] = {Dtype::uint8,     Dtype::int8,       Dtype::int16,
                                 Dtype::int32,     Dtype::int64,      Dtype::float16,
                                 Dtype::float32,   Dtype::float64,    Dtype::complex32,
                                 Dtype::complex64, Dtype::complex128, Dtype::bool_};
  constexpr std::pair<int64_t, Dtype> kLater[] = {
      {15, Dtype::bfloat16},        {23, Dtype::float8_e5m2},     {24, Dtype::float8_e4m3fn},
      {25, Dtype::float8_e5m2fnuz}, {26, Dtype::float8_e4m3fnuz}, {27, Dtype::uint16},
      {28, Dtype::uint32},          {29, Dtype::uint64},          {44, Dtype::float8_e8m0fnu}};
  for (const auto& [later, dtype] : kLater)
    if (number == later) return dtype;
  if (number < 0 || number >= static_cast<int64_t>(std::size(kByNumber))) return std::nullopt;
  return kByNumber[number];
}

// Converts one element as Python does: where an int is expected, True becomes 1; where a tensor is
// expected, a number becomes a tensor; where a device is expected, a text becomes the device that
// it names. True if `value` then has the type.
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
  // torch.export.passes.move_to_device_pass writes devices as text.
  if (const auto* text = value.get_if<std::string>(); text != nullptr && base == BaseType::device) {
    auto device = find_device(*text);
    if (!device) return false;
    value = Value(*std::move(device));
    return true;
  }
  const bool* boolean = value.get_if<bool>();
  if (boolean != nullptr && (base == BaseType::integer || base == BaseType::number)) {
    value = Value(int64_t{*boolean});
    return true;
  }
  return false;
}

std::optional<Value> parse_dtype(std::string_view text) {
  // The names of TorchScript's own types in signatures.
  if (text == "float") return Value(Dtype::float32);
  if (text == "long") return Value(Dtype::int64);
  if (text == "complex") return Value(Dtype::complex64);
  const auto number = parse_int(text);
  const auto dtype = number ? dtype_of_c10_number(*number) : find_dtype(text);
  return dtype ? std::optional(Value(*dtype)) : std::nullopt;
}

// Signatures print enums as the numbers of c10's enumerators: 0 is the contiguous format.
std::optional<Value> parse_memory_format(std::string_view text) {
  if (text == "0" || text == "contiguous_format") return Value(MemoryFormat::contiguous);
  if (text == "1" || text == "preserve_format") return Value(MemoryFormat::preserve);
  if (text == "2" || text == "channels_last") return Value(MemoryFormat::channels_last);
  if (text == "3" || text == "channels_last_3d") return Value(MemoryFormat::channels_last_3d);
  return std::nullopt;
}

// The text inside "mode" or 'mode'. Nothing (nullopt) if it contains escape sequences, which are
// not supported.
std::optional<std::string> parse_quoted(std::string_view text) {
  if (text.size() < 2 || text.front() != text.back()) return std::nullopt;
  if (text.front() != '"' && text.front() != '\'') return std::nullopt;
  const std::string_view inner = text.substr(1, text.size() - 2);
  if (inner.find_first_of(std::string{'\\', text.front()}) != inner.npos) return std::nullopt;
  return std::string(inner);
}

std::optional<Value> parse_number(std::string_view text) {
  if (const auto integer = parse_int(text)) return Value(*integer);
  // The number of at::Reduction::Mean.
  if (text == "Mean") return Value(int64_t{1});
  const auto number = decimal_value(text);  // accepts "1." and "inf"
  return number ? std::optional(Value(*number)) : std::nullopt;
}

std::optional<Value> parse_default_element(BaseType base, std::string_view text) {
  if (text == "True" || text == "False") return Value(text == "True");
  switch (base) {
    case BaseType::dtype:
      return parse_dtype(text);
    case BaseType::memory_format:
      return parse_memory_format(text);
    case BaseType::layout:
      if (text == "0" || text == "strided") return Value(Layout::strided);
      return std::nullopt;
    case BaseType::device:
      if (auto type = parse_quoted(text)) return Value(Device{*std::move(type), std::nullopt});
      return std::nullopt;
    case BaseType::string:
      if (auto inner = parse_quoted(text)) return Value(*std::move(inner));
      return std::nullopt;
    case BaseType::integer:
    case BaseType::number:
    case BaseType::boolean:
    case BaseType::scalar:
      return parse_number(text);
    case BaseType::tensor:
    case BaseType::generator:
    case BaseType::object:
      return std::nullopt;
  }
  return std::nullopt;
}

// The current name of an argument that older releases call `old_name`; `old_name` itself if it was
// not renamed.
std::string_view name_now(const Signature& signature, std::string_view old_name) {
  struct Row {
    std::string_view target, old_name, new_name;
  };
  constexpr Row kRows[] = {
#define PT2_ARGUMENT_NAME(last, target, old, new) {target, old, new},
#include "ops/argument_names.def"
  };
  const std::string target = target_of(signature);
  for (const Row& row : kRows)
    if (row.target == target && row.old_name == old_name) return row.new_name;
  return old_name;
}

}  // namespace

std::string type_name(const ArgumentType& type) {
  constexpr std::string_view kNames[] = {"Tensor",       "int",        "float",     "bool",
                                         "Scalar",       "ScalarType", "Layout",    "Device",
                                         "MemoryFormat", "str",        "Generator", "object"};
  std::string out(kNames[static_cast<size_t>(type.base)]);
  if (type.optional_element) out += '?';
  if (type.list) out += "[]";
  if (type.optional) out += '?';
  return out;
}

bool fits(const ArgumentType& type, const Value& value) {
  const auto fits_one = [&](const Value& item, bool optional) {
    if (item.is_none()) return optional || type.base == BaseType::generator;
    const auto* tensor = item.get_if<Tensor>();
    return fits_base(type.base, item) && (tensor == nullptr || tensor->defined());
  };
  if (!type.list) return fits_one(value, type.optional);
  if (value.is_none()) return type.optional;
  const auto* list = value.get_if<Value::List>();
  return list != nullptr && std::ranges::all_of(*list, [&](const Value& item) {
           return fits_one(item, type.optional_element);
         });
}

std::span<const std::string_view> device_types() { return kDeviceTypes; }

std::optional<Device> find_device(std::string_view text) {
  constexpr int64_t kMostIndex = std::numeric_limits<int8_t>::max();  // c10::DeviceIndex
  const size_t colon = text.find(':');
  Device device{.type = std::string(text.substr(0, colon)), .index = std::nullopt};
  if (std::ranges::find(kDeviceTypes, device.type) == std::end(kDeviceTypes)) return std::nullopt;
  if (colon == text.npos) return device;
  device.index = parse_int(text.substr(colon + 1));
  if (!device.index || *device.index < 0 || *device.index > kMostIndex) return std::nullopt;
  return device;
}

Result<size_t> parameter_index(const Signature& signature, std::string_view argument_name,
                               size_t position) {
  if (argument_name.empty()) {
    if (position < signature.parameter_count) return position;
    return operator_error("argument " + std::to_string(position) + " is one too many for " +
                          std::string(signature.text));
  }
  const Parameter* found = signature.find(argument_name);
  if (found == nullptr) found = signature.find(name_now(signature, argument_name));
  if (found != nullptr) return static_cast<size_t>(found - signature.begin());
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
  const auto element = [&](std::string_view part) -> Result<Value> {
    std::optional<Value> value = parse_default_element(parameter.type.base, part);
    if (value) return *std::move(value);
    return operator_error("the default '" + std::string(parameter.default_text) + "' of '" +
                          std::string(parameter.name) + "' is no " + type_name(parameter.type));
  };
  if (text == "None") return coerce(parameter, Value());
  if (!text.starts_with('[') || !text.ends_with(']')) {
    PT2_TRY(Value value, element(text));
    return coerce(parameter, std::move(value));
  }
  Value::List list;
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    PT2_TRY(Value item, element(text.substr(0, comma)));
    list.push_back(std::move(item));
    text.remove_prefix(std::min(comma + 1, text.size()));
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
  return coerce(parameter, Value(std::move(list)));
}

Result<Value> coerce(const Parameter& parameter, Value value) {
  const ArgumentType& type = parameter.type;
  auto mismatch = [&] {
    return operator_error("argument '" + std::string(parameter.name) + "': found " +
                          value.type_text() + ", expected " + type_name(type));
  };
  if (value.is_none()) {
    if (type.optional) return value;
    return mismatch();
  }
  if (!type.list) {
    // Exporters that flattened symbolic values may write a list of one element for the element.
    // Python has no such rule.
    if (!fit_element(type.base, value)) return mismatch();
    return value;
  }
  // A number is no tensor of a list: files name such tensors by their values.
  const auto fits_list = [&](Value& item) {
    return type.base == BaseType::tensor ? item.is<Tensor>() : fit_element(type.base, item);
  };
  if (!value.is<Value::List>()) {
    // int[2] and int[1] accept one int for all elements. A list without a size accepts no single
    // element, except for dim=0 of int[].
    if (!fits_list(value)) return mismatch();
    const size_t count = type.list_size == 0 ? 1 : type.list_size;
    return Value(Value::List(count, value));
  }
  for (Value& item : *value.get_if<Value::List>()) {
    if (item.is_none() && type.optional_element) continue;
    if (!fits_list(item)) return mismatch();
  }
  return value;
}

Result<std::vector<Value>> bind_in_order(const Signature& signature,
                                         std::span<const Value> arguments) {
  PT2_CHECK(arguments.size() <= signature.parameter_count);
  std::vector<Value> bound;
  bound.reserve(signature.parameter_count);
  for (const Value& argument : arguments) {
    PT2_TRY(Value value, coerce(signature.parameter_array[bound.size()], argument));
    bound.push_back(std::move(value));
  }
  while (bound.size() < signature.parameter_count) {
    PT2_TRY(Value value, default_value(signature.parameter_array[bound.size()]));
    bound.push_back(std::move(value));
  }
  return bound;
}

}  // namespace pt2::ops
