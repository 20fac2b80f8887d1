// The element types of tensors, with their names and numbers in every file format (dtype.def).
#ifndef PT2_DTYPE_H
#define PT2_DTYPE_H

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace pt2 {

enum class Dtype : uint8_t {
#define PT2_DTYPE(name, short_name, schema_number, size, category, safetensors, numpy) name,
#include "pt2/dtype.def"
};

// In the order of PyTorch's type promotion: a higher category wins over a lower one.
enum class DtypeCategory : uint8_t { boolean, integer, floating, complex };

struct DtypeInfo {
  Dtype dtype;
  std::string_view name;        // float32, as torch prints it
  std::string_view short_name;  // f32
  uint8_t schema_number;        // ScalarType of the export schema, not c10's
  uint8_t size;                 // bytes of one element
  DtypeCategory category;
  std::string_view safetensors_name;  // empty if the format lacks the dtype
  std::string_view numpy_descriptor;  // empty if the format lacks the dtype
};

std::span<const DtypeInfo> dtypes();
const DtypeInfo& dtype_info(Dtype dtype);
// Returns the bytes of one element. Inline, because every access to elements needs it.
constexpr int64_t dtype_size(Dtype dtype) {
  constexpr uint8_t kSizes[] = {
#define PT2_DTYPE(name, short_name, schema_number, size, category, safetensors, numpy) size,
#include "pt2/dtype.def"
  };
  return kSizes[static_cast<size_t>(dtype)];
}
inline std::string_view dtype_name(Dtype dtype) { return dtype_info(dtype).name; }
inline DtypeCategory dtype_category(Dtype dtype) { return dtype_info(dtype).category; }
// Returns the dtype of the real part of a complex dtype, and a real dtype unchanged
// (c10::toRealValueType).
constexpr Dtype real_dtype(Dtype dtype) {
  switch (dtype) {
    case Dtype::complex32:
      return Dtype::float16;
    case Dtype::complex64:
      return Dtype::float32;
    case Dtype::complex128:
      return Dtype::float64;
    default:
      return dtype;
  }
}
// Find a dtype by its name or short name, or by its schema number; nothing if there is none.
std::optional<Dtype> find_dtype(std::string_view name);
std::optional<Dtype> find_dtype_by_schema_number(int64_t number);

}  // namespace pt2

#endif  // PT2_DTYPE_H
