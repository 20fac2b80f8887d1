// The header of a .npy file: a Python dict literal after a magic number.
#ifndef PT2_TENSOR_FILES_NPY_HEADER_H
#define PT2_TENSOR_FILES_NPY_HEADER_H

#include <span>
#include <string>

#include "pt2/dtype.h"
#include "pt2/result.h"
#include "pt2/tensor.h"

namespace pt2::tensor_files {

struct NpyHeader {
  Dtype dtype = Dtype::float32;
  bool swapped = false;  // elements are big-endian
  bool fortran_order = false;
  Sizes sizes;
  size_t data_offset = 0;
};

Result<NpyHeader> read_npy_header(std::span<const std::byte> bytes);
// Returns magic number, header and padding of a C-ordered little-endian array.
Result<std::string> print_npy_header(Dtype dtype, const Sizes& sizes);

}  // namespace pt2::tensor_files

#endif  // PT2_TENSOR_FILES_NPY_HEADER_H
