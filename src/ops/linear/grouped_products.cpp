// Products of matrices whose rows belong to groups, with one matrix for each group: mixture of
// experts.
#include "ops/linear/grouped_products.h"

#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/linear/matmul.h"
#include "ops/loops.h"
#include "ops/op_def.h"
#include "ops/shape/view.h"

namespace pt2::ops {

Result<std::vector<int64_t>> group_ends(const Tensor& offs, int64_t length) {
  PT2_TRY_VOID(check_rank(offs, 1, "offs"));
  const Input<int64_t> input(offs);
  std::vector<int64_t> ends(input.data(), input.data() + input.size());
  int64_t last = 0;
  for (int64_t end : ends) {
    if (end < last || end > length)
      return operator_error("offs: found " + std::to_string(end) + ", expected " +
                            std::to_string(last) + " to " + std::to_string(length));
    last = end;
  }
  return ends;
}

Result<void> copy_into(Tensor target, const Tensor& source) {
  PT2_TRY_VOID(check_sizes(source, target.sizes(), "a group"));
  copy_elements(target, source);
  return {};
}

namespace {

// A Meta whose rows begin at multiples of 16 bytes (ATen/native/GroupedMMUtils.h
// create_grouped_gemm_output_tensor).
Result<Meta> aligned_rows(Dtype dtype, Sizes sizes) {
  const int64_t step = 16 / dtype_size(dtype);
  Sizes padded = sizes;
  PT2_TRY(padded.back(), multiply_add(padded.back() / step + (padded.back() % step != 0), step));
  return Meta(dtype, std::move(sizes), contiguous_strides(padded));
}

// Groups split two matrices along their common dimension, and a matrix and a batch along the
// matrix's other dimension; they do not split two batches (ATen/native/GroupedMMUtils.h).
Result<Meta> grouped_mm_meta(const Tensor& self, const Tensor& mat2, const OptionalTensor& offs,
                             const OptionalTensor& bias, OptionalDtype out_dtype) {
  PT2_TRY_VOID(check_floating(self, "self"));
  PT2_TRY_VOID(check_same_dtype(mat2, self, "mat2"));
  if (bias) return operator_error("bias: found one, expected none");
  if (out_dtype && *out_dtype != self.dtype())
    return operator_error("out_dtype: found " + std::string(dtype_name(*out_dtype)) +
                          ", expected " + std::string(dtype_name(self.dtype())));
  for (const Tensor* tensor : {&self, &mat2})
    if (tensor->dim() != 2 && tensor->dim() != 3)
      return operator_error("found " + tensor->type_text() + ", expected 2 or 3 dims");
  const bool left_split = self.dim() == 2;
  const bool right_split = mat2.dim() == 2;
  if (!left_split && !right_split) {
    if (offs) return operator_error("offs: found some, expected none for two batches");
    const std::array batches{Sizes{self.size(0)}, Sizes{mat2.size(0)}};
    PT2_TRY(const Sizes batch, broadcast_sizes(batches));
    return aligned_rows(self.dtype(), {batch[0], self.size(1), mat2.size(2)});
  }
  if (!offs) return operator_error("offs: found none, expected the ends of the groups");
  PT2_TRY_VOID(check_dtype(*offs, Dtype::int32, "offs"));
  PT2_TRY_VOID(check_rank(*offs, 1, "offs"));
  const int64_t groups = offs->size(0);
  for (const Tensor* batch : {&self, &mat2})
    if (batch->dim() == 3 && batch->size(0) != groups)
      return operator_error("offs: found " + std::to_string(groups) + " groups, expected " +
                            std::to_string(batch->size(0)));
  Sizes sizes{self.size(self.dim() - 2), mat2.size(mat2.dim() - 1)};
  if (left_split && right_split) sizes.insert(sizes.begin(), groups);
  return aligned_rows(self.dtype(), std::move(sizes));
}
Result<void> grouped_mm(Tensor& out, const Tensor& self, const Tensor& mat2,
                        const OptionalTensor& offs, const OptionalTensor&, OptionalDtype) {
  const bool left_split = self.dim() == 2;
  const bool right_split = mat2.dim() == 2;
  if (!left_split && !right_split) {
    PT2_TRY(const Tensor product, matmul(self, mat2));
    copy_elements(out, product);
    return {};
  }
  const int64_t length = !left_split ? mat2.size(1) : right_split ? self.size(1) : self.size(0);
  PT2_TRY(const std::vector<int64_t> ends, group_ends(*offs, length));
  const auto groups = static_cast<int64_t>(ends.size());
  int64_t begin = 0;
  for (int64_t group = 0; group < groups; ++group) {
    const int64_t count = ends[static_cast<size_t>(group)] - begin;
    PT2_TRY(const Tensor left,
            left_split ? narrow(self, right_split ? 1 : 0, begin, count) : select(self, 0, group));
    PT2_TRY(const Tensor right,
            right_split ? narrow(mat2, left_split ? 0 : 1, begin, count) : select(mat2, 0, group));
    PT2_TRY(const Tensor product, matmul(left, right));
    PT2_TRY(Tensor target, left_split && right_split
                               ? select(out, 0, group)
                               : narrow(out, left_split ? 0 : 1, begin, count));
    PT2_TRY_VOID(copy_into(target, product));
    begin += count;
  }
  return {};
}

// clang-format off
constexpr OpDef kGroupedProductsOps[] = {
    op<"aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor", grouped_mm_meta, grouped_mm>,
};
// clang-format on

}  // namespace

std::span<const OpDef> grouped_products_ops() { return kGroupedProductsOps; }

}  // namespace pt2::ops
