// Conversion of float16 and bfloat16 to the floats that steps compute with, and back.
#ifndef PT2_RUN_PLAN_HALVES_H
#define PT2_RUN_PLAN_HALVES_H

#include "kernels/tiles.h"
#include "ops/convert.h"
#include "run/plan/layout.h"

namespace pt2::run {

using ops::is_half;
using ops::narrow_to_halves;
using ops::widen_halves;

inline kernels::Rounding rounding_of(Dtype dtype) {
  if (dtype == Dtype::float16) return kernels::Rounding::half;
  return dtype == Dtype::bfloat16 ? kernels::Rounding::bfloat16 : kernels::Rounding::none;
}

// Returns a tensor of halves as floats, in the same layout if it fills a block, else row-major;
// nullopt for other tensors.
inline std::optional<Tensor> widened(Frame& frame, const Tensor& tensor) {
  if (!tensor.defined() || !is_half(tensor.dtype()) || tensor.numel() == 0 || !is_aligned(tensor))
    return std::nullopt;
  const Tensor lying = fills_block(tensor) ? tensor : to_row_major(frame, tensor);
  Tensor out = frame.make(lying.sizes(), lying.strides());
  frame.launch([dtype = tensor.dtype(), from = lying.raw_data(), count = lying.numel(),
                to = out.data<float>()] { widen_halves(dtype, from, count, to); });
  return out;
}
// Returns floats that fill a block, rounded to the dtype in the same layout.
inline Tensor narrowed(Frame& frame, const Tensor& tensor, Dtype dtype) {
  Tensor out = frame.make(tensor.sizes(), tensor.strides(), dtype);
  frame.launch([dtype, from = tensor.data<float>(), count = tensor.numel(), to = out.raw_data()] {
    narrow_to_halves(dtype, from, count, to);
  });
  return out;
}

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_HALVES_H
