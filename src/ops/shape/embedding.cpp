// Look-ups of rows by index.
#include <algorithm>

#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

Result<Meta> embedding_meta(const Tensor& weight, const Tensor& indices, int64_t, bool, bool) {
  PT2_TRY_VOID(check_rank(weight, 2, "weight"));
  PT2_TRY_VOID(check_index_dtype(indices, "indices"));
  Sizes sizes = indices.sizes();
  sizes.push_back(weight.size(1));
  return Meta(weight.dtype(), std::move(sizes));
}

Result<void> check_row(int64_t row, int64_t rows) {
  if (row < 0 || row >= rows)
    return operator_error("indices: found " + std::to_string(row) + ", expected 0 to " +
                          std::to_string(rows - 1));
  return {};
}

Result<void> embedding(Tensor& out, const Tensor& weight, const Tensor& indices, int64_t, bool,
                       bool) {
  const Tensor table = weight.contiguous();
  const Input<int64_t> rows(indices);
  const int64_t bytes = weight.size(1) * dtype_size(weight.dtype());
  for (int64_t i = 0; i < rows.size(); ++i) {
    PT2_TRY_VOID(check_row(rows[i], weight.size(0)));
    std::copy_n(table.raw_data() + rows[i] * bytes, bytes, out.raw_data() + i * bytes);
  }
  return {};
}

// clang-format off
constexpr OpDef kOps[] = {
    op<"aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
       embedding_meta, embedding>,
};
// clang-format on

}  // namespace

std::span<const OpDef> embedding_ops() { return kOps; }

}  // namespace pt2::ops
