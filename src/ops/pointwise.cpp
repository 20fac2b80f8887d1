// Pointwise operators of one operand.
#include <cmath>

#include "ops/loops.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

Meta same_as_self(const Tensor& self) {
  const Tensor* operand = &self;
  return {self.dtype(), self.sizes(), elementwise_strides(self.sizes(), std::span(&operand, 1))};
}

struct Relu {
  // A NaN stays a NaN: std::max would turn it into 0.
  template <class C>
  C operator()(C x) const {
    return x < C(0) ? C(0) : x;
  }
};

template <class F>
void real_unary(Tensor& out, const Tensor& self) {
  with_real_compute_type(self.dtype(),
                         [&]<class C>() { elementwise<C>(out, self.dtype(), F{}, self); });
}

// clang-format off
constexpr OpDef kOps[] = {
    op<"aten::relu(Tensor self) -> Tensor", same_as_self, real_unary<Relu>>,
};
// clang-format on

}  // namespace

std::span<const OpDef> pointwise_ops() { return kOps; }

}  // namespace pt2::ops
