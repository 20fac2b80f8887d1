// Kernels of the operators that export_custom.py declares.
#ifndef PT2_EXAMPLES_MYLIB_H
#define PT2_EXAMPLES_MYLIB_H

#include <tuple>

#include "pt2/ops/custom_operators.h"

namespace mylib {

// Kernels get whatever a file passes to them. A kernel that can fail returns a Result.
inline pt2::Result<void> expect_f32(const pt2::Tensor& x) {
  if (x.dtype() == pt2::Dtype::float32) return {};
  return pt2::Error{pt2::ErrorCode::invalid, "found " + x.type_text() + ", expected f32", ""};
}

inline pt2::Result<pt2::Tensor> scale(const pt2::Tensor& x, double factor) {
  PT2_TRY_VOID(expect_f32(x));
  pt2::Tensor out = x.contiguous().clone();
  for (int64_t i = 0; i < out.numel(); ++i) out.data<float>()[i] *= static_cast<float>(factor);
  return out;
}

inline pt2::Result<std::tuple<pt2::Tensor, pt2::Tensor>> split_sign(const pt2::Tensor& x) {
  PT2_TRY_VOID(expect_f32(x));
  pt2::Tensor positive = x.contiguous().clone();
  pt2::Tensor negative = positive.clone();
  for (int64_t i = 0; i < x.numel(); ++i) {
    float& kept = positive.data<float>()[i];
    (kept > 0 ? negative.data<float>()[i] : kept) = 0;
  }
  return std::tuple{positive, negative};
}

// Writes to the caller's tensor, which need not be contiguous.
inline pt2::Result<void> add_into(pt2::Tensor out, const pt2::Tensor& x, const pt2::Scalar& alpha) {
  PT2_TRY_VOID(expect_f32(out));
  PT2_TRY_VOID(expect_f32(x));
  if (out.dim() != 2 || x.sizes() != out.sizes())
    return pt2::Error{pt2::ErrorCode::invalid, "expected two matrices of the same sizes", ""};
  const auto factor = static_cast<float>(alpha.to_double());
  for (int64_t row = 0; row < out.size(0); ++row)
    for (int64_t column = 0; column < out.size(1); ++column)
      out.data<float>()[row * out.stride(0) + column * out.stride(1)] +=
          factor * x.data<float>()[row * x.stride(0) + column * x.stride(1)];
  return {};
}

inline pt2::Result<void> add_operators(pt2::CustomOperators& operators) {
  PT2_TRY_VOID(operators.add("mylib::scale(Tensor x, float factor=2.0) -> Tensor", scale));
  PT2_TRY_VOID(operators.add("mylib::split_sign(Tensor x) -> (Tensor positive, Tensor negative)",
                             split_sign));
  return operators.add("mylib::add_into(Tensor(a!) out, Tensor x, *, Scalar alpha=1) -> ()",
                       add_into);
}

}  // namespace mylib

#endif  // PT2_EXAMPLES_MYLIB_H
