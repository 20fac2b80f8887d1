// Tensors beside what a program records of them.
#ifndef PT2_RUN_REFERENCE_FITS_RECORD_H
#define PT2_RUN_REFERENCE_FITS_RECORD_H

#include "pt2/ir/graph.h"
#include "pt2/tensor.h"

namespace pt2::run {

// Compares dtype, rank, and the sizes recorded as numbers.
inline bool fits_record(const Tensor& found, const TensorMeta& record) {
  const auto dtype = record.dtype.dtype();
  if (!dtype) return true;  // a dtype of a newer release
  if (*dtype != found.dtype()) return false;
  if (record.sizes.size() != found.sizes().size()) return false;
  for (size_t dim = 0; dim < record.sizes.size(); ++dim)
    if (!record.sizes[dim].is_symbolic() && record.sizes[dim].literal() != found.sizes()[dim])
      return false;
  return true;
}

}  // namespace pt2::run

#endif  // PT2_RUN_REFERENCE_FITS_RECORD_H
