// The part of DLPack's binary interface (major version 1) that the C interface uses:
// https://dmlc.github.io/dlpack/latest/c_api.html. Names are DLPack's own, so that a caller's
// dlpack.h means the same types.
#ifndef PT2_C_DLPACK_ABI_H
#define PT2_C_DLPACK_ABI_H

#include <cstdint>

extern "C" {

struct DLPackVersion {
  uint32_t major;
  uint32_t minor;
};
struct DLDevice {
  int32_t device_type;
  int32_t device_id;
};
struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
};
// The form up to version 0.8, which older producers still use.
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};

}  // extern "C"

namespace pt2::c {
inline constexpr int32_t kDlpackCpu = 1;
inline constexpr uint64_t kDlpackReadOnly = 1;
}  // namespace pt2::c

#endif  // PT2_C_DLPACK_ABI_H
