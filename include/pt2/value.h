// Values: the arguments and results of operators. A Value is a tensor, a number, a text, an
// enumerator of the format, an object, or a list of values.
#ifndef PT2_VALUE_H
#define PT2_VALUE_H

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "pt2/tensor.h"

namespace pt2 {

// The numbers are those of the export schema, not those of c10.
enum class MemoryFormat : uint8_t {
  unknown = 0,
  contiguous = 1,
  channels_last = 2,
  channels_last_3d = 3,
  preserve = 4
};
enum class Layout : uint8_t {
  unknown = 0,
  sparse_coo = 1,
  sparse_csr = 2,
  sparse_csc = 3,
  sparse_bsr = 4,
  sparse_bsc = 5,
  mkldnn = 6,
  strided = 7
};

struct Device {
  std::string type = "cpu";
  std::optional<int64_t> index;
  bool operator==(const Device&) const = default;
};

// A Python number passed to an operator. Type promotion depends on its category: an int does not
// turn an integer tensor into a float tensor.
class Scalar {
 public:
  Scalar(bool value) : data_(value) {}
  Scalar(int value) : data_(int64_t{value}) {}
  Scalar(int64_t value) : data_(value) {}
  Scalar(double value) : data_(value) {}
  Scalar(std::complex<double> value) : data_(value) {}

  DtypeCategory category() const { return static_cast<DtypeCategory>(data_.index()); }
  bool is_integral() const { return data_.index() <= 1; }
  // Convert the number as C++ does. A complex number gives its real part; a float is truncated
  // towards zero.
  double to_double() const;
  int64_t to_int() const;
  bool to_bool() const;
  std::complex<double> to_complex() const;
  bool operator==(const Scalar&) const = default;

 private:
  std::variant<bool, int64_t, double, std::complex<double>> data_;
};

// A pickled instance of a custom C++ class (torch.ScriptObject).
struct ScriptObject;
using Object = std::shared_ptr<const ScriptObject>;

template <class T, class Variant>
inline constexpr bool is_alternative_of = false;
template <class T, class... Types>
inline constexpr bool is_alternative_of<T, std::variant<Types...>> = (std::same_as<T, Types> ||
                                                                      ...);
template <class T, class Variant>
concept AlternativeOf = is_alternative_of<T, Variant>;

// One argument or result of an operator. `none` is std::monostate.
struct Value {
  using List = std::vector<Value>;
  using Data = std::variant<std::monostate, Tensor, int64_t, double, bool, std::complex<double>,
                            std::string, Dtype, MemoryFormat, Layout, Device, Object, List>;
  Data data;

  // These are defined in value.cpp to keep the code of every source that uses a Value small:
  // copying, moving and destroying a variant inline takes code for each alternative.
  Value();
  Value(const Value&);
  Value(Value&&) noexcept;
  Value& operator=(const Value&);
  Value& operator=(Value&&) noexcept;
  ~Value();
  template <class T>
  requires AlternativeOf<T, Data> Value(T value);

  // Integers of every width become int64_t (larger ones wrap), floats become double. Without these
  // constructors the size() of a vector would become a complex number.
  template <std::integral T>
  requires(!AlternativeOf<T, Data>) Value(T value) : Value(static_cast<int64_t>(value)) {}
  template <std::floating_point T>
  requires(!AlternativeOf<T, Data>) Value(T value) : Value(static_cast<double>(value)) {}
  Value(const char* value);
  Value(std::nullptr_t) : Value() {}  // none; without it, a text at a null pointer

  bool is_none() const { return data.index() == 0; }
  template <class T>
  bool is() const {
    return std::holds_alternative<T>(data);
  }
  // Returns the alternative T; nullptr if the value holds another one.
  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&data);
  }
  template <class T>
  T* get_if() {
    return std::get_if<T>(&data);
  }
  // Returns type and value as short text, without elements: "f32[2, 3]", "int 3", "list of 2".
  std::string type_text() const;
};

struct ScriptObject {
  std::string class_name;  // "__torch__.torch.classes.quantized.LinearPackedParamsBase"
  // The result of its __getstate__: numbers, texts, tensors and lists of these. A quantized tensor
  // is a list of its integers, scale and zero point.
  Value state;
};

}  // namespace pt2

#endif  // PT2_VALUE_H
