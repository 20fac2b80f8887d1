// Tensor elements inside mapped bytes.
#ifndef PT2_TENSOR_FILES_BYTES_H
#define PT2_TENSOR_FILES_BYTES_H

#include <cstring>
#include <memory>
#include <span>
#include <string>

#include "pt2/dtype.h"
#include "pt2/format/archive.h"
#include "pt2/result.h"
#include "pt2/tensor.h"

namespace pt2::tensor_files {

// The limit of NumPy, and of iteration in PyTorch. The number of dimensions comes from the file,
// and copying elements recurses over it.
constexpr size_t kMaxDims = 64;

inline Result<void> check_dim_count(size_t dims) {
  if (dims <= kMaxDims) return {};
  return Error{ErrorCode::limit,
               "found " + std::to_string(dims) + " dimensions, at most " +
                   std::to_string(kMaxDims) + " are allowed",
               ""};
}

// Returns the alignment needed to read one element; a complex number is two elements.
inline size_t element_alignment(Dtype dtype) {
  const auto size = static_cast<size_t>(dtype_size(dtype));
  return dtype_category(dtype) == DtypeCategory::complex ? size / 2 : size;
}

inline std::span<const std::byte> element_bytes(const Tensor& contiguous) {
  return {contiguous.raw_data(), static_cast<size_t>(contiguous.nbytes())};
}

inline std::shared_ptr<Storage> copy_storage(std::span<const std::byte> bytes) {
  std::shared_ptr<Storage> storage = Storage::allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(storage->data(), bytes.data(), bytes.size());
  return storage;
}

// Returns a storage for `bytes` of the record: borrowed if aligned for the dtype, else copied.
inline std::shared_ptr<Storage> storage_in(const Record& record, std::span<const std::byte> bytes,
                                           Dtype dtype) {
  return make_storage({.bytes = bytes, .owner = record.owner}, element_alignment(dtype));
}

}  // namespace pt2::tensor_files

#endif  // PT2_TENSOR_FILES_BYTES_H
