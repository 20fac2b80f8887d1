#include "pt2/value.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"

namespace pt2 {
namespace {

template <class T>
T convert(const std::variant<bool, int64_t, double, std::complex<double>>& data) {
  return std::visit(
      []<class V>(V value) -> T {
        if constexpr (std::is_same_v<V, std::complex<double>>)
          return static_cast<T>(value.real());
        else
          return static_cast<T>(value);
      },
      data);
}

}  // namespace

double Scalar::to_double() const { return convert<double>(data_); }

int64_t Scalar::to_int() const {
  // Converting a float out of range is undefined in C++. x86 gives the smallest integer, and so
  // does PyTorch.
  if (data_.index() >= 2) {
    const double value = convert<double>(data_);
    return value >= -0x1p63 && value < 0x1p63 ? static_cast<int64_t>(value) : INT64_MIN;
  }
  return convert<int64_t>(data_);
}

bool Scalar::to_bool() const { return to_complex() != std::complex<double>(0); }

std::complex<double> Scalar::to_complex() const {
  if (const auto* value = std::get_if<std::complex<double>>(&data_)) return *value;
  return convert<double>(data_);
}

Value::Value() = default;
Value::Value(const Value&) = default;
Value::Value(Value&&) noexcept = default;
Value& Value::operator=(const Value&) = default;
Value& Value::operator=(Value&&) noexcept = default;
Value::~Value() = default;

template <class T>
requires AlternativeOf<T, Value::Data> Value::Value(T value) : data(std::move(value)) {}
template Value::Value(std::monostate);
template Value::Value(Tensor);
template Value::Value(int64_t);
template Value::Value(double);
template Value::Value(bool);
template Value::Value(std::complex<double>);
template Value::Value(std::string);
template Value::Value(Dtype);
template Value::Value(MemoryFormat);
template Value::Value(Layout);
template Value::Value(Device);
template Value::Value(Object);
template Value::Value(List);
Value::Value(const char* value) : data(std::string(value)) {}

std::string Value::type_text() const {
  struct Describe {
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(const Tensor& tensor) const { return tensor.type_text(); }
    std::string operator()(int64_t value) const { return "int " + std::to_string(value); }
    std::string operator()(double value) const { return "float " + print_float(value); }
    std::string operator()(bool value) const { return value ? "bool true" : "bool false"; }
    std::string operator()(std::complex<double> value) const {
      return fmt::format("complex ({}{:+}j)", value.real(), value.imag());  // Python's spelling
    }
    std::string operator()(const std::string& text) const { return "string '" + text + "'"; }
    std::string operator()(Dtype dtype) const { return "dtype " + std::string(dtype_name(dtype)); }
    std::string operator()(MemoryFormat) const { return "memory format"; }
    std::string operator()(Layout) const { return "layout"; }
    std::string operator()(const Device& device) const { return "device " + device.type; }
    std::string operator()(const Object& object) const {
      return object == nullptr ? "object" : "object " + object->class_name;
    }
    std::string operator()(const List& list) const {
      return "list of " + std::to_string(list.size());
    }
  };
  return std::visit(Describe{}, data);
}

}  // namespace pt2
