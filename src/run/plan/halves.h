// float16 and bfloat16 as floats, and back: what steps compute with, and what they round to.
#ifndef PT2_RUN_PLAN_HALVES_H
#define PT2_RUN_PLAN_HALVES_H

#include "kernels/dtypes/halves.h"
#include "kernels/tiles.h"
#include "run/plan/layout.h"

namespace pt2::run {

inline bool is_half(Dtype dtype) { return dtype == Dtype::float16 || dtype == Dtype::bfloat16; }

inline kernels::Rounding rounding_of(Dtype dtype) {
  if (dtype == Dtype::float16) return kernels::Rounding::half;
  return dtype == Dtype::bfloat16 ? kernels::Rounding::bfloat16 : kernels::Rounding::none;
}

// Of halves that are aligned.
inline void widen(Dtype dtype, const std::byte* from, int64_t count, float* to) {
  const auto* halves = reinterpret_cast<const uint16_t*>(from);
  if (dtype == Dtype::float16)
    kernels::half_to_float(halves, count, to);
  else
    kernels::bfloat16_to_float(halves, count, to);
}
inline void narrow(Dtype dtype, const float* from, int64_t count, std::byte* to) {
  auto* halves = reinterpret_cast<uint16_t*>(to);
  if (dtype == Dtype::float16)
    kernels::float_to_half(from, count, halves);
  else
    kernels::float_to_bfloat16(from, count, halves);
}

// A tensor of halves with elements as floats that lie alike, or row by row; nothing for others.
inline std::optional<Tensor> widened(Frame& frame, const Tensor& tensor) {
  if (!tensor.defined() || !is_half(tensor.dtype()) || tensor.numel() == 0 || !is_aligned(tensor))
    return std::nullopt;
  const Tensor lying = fills_block(tensor) ? tensor : to_row_major(frame, tensor);
  Tensor out = frame.make(lying.sizes(), lying.strides());
  frame.launch([dtype = tensor.dtype(), from = lying.raw_data(), count = lying.numel(),
                to = out.data<float>()] { widen(dtype, from, count, to); });
  return out;
}
// Floats that fill a block, rounded.
inline Tensor narrowed(Frame& frame, const Tensor& tensor, Dtype dtype) {
  Tensor out = frame.make(tensor.sizes(), tensor.strides(), dtype);
  frame.launch([dtype, from = tensor.data<float>(), count = tensor.numel(), to = out.raw_data()] {
    narrow(dtype, from, count, to);
  });
  return out;
}

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_HALVES_H
