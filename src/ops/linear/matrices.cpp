#include "ops/linear/matrices.h"

#include <algorithm>

#include "ops/checks.h"
#include "ops/loops.h"
#include "ops/pointwise/copying.h"
#include "ops/shape/view.h"

namespace pt2::ops {

Result<void> check_matrices(const Tensor& a, std::string_view what) {
  PT2_TRY_VOID(check_floating_or_complex(a, what));
  PT2_TRY_VOID(check_rank_at_least(a, 2, what));
  if (dtype_size(a.dtype()) < 4 || a.dtype() == Dtype::complex32)
    return operator_error("found dtype " + std::string(dtype_name(a.dtype())) +
                          ", expected 32 or 64 bits");
  return {};
}
Result<void> check_square(const Tensor& a, std::string_view what) {
  PT2_TRY_VOID(check_matrices(a, what));
  if (a.size(a.dim() - 1) != a.size(a.dim() - 2))
    return operator_error(std::string(what) + ": found sizes " + sizes_text(a.sizes()) +
                          ", expected square matrices");
  return {};
}

Sizes batch_of(const Tensor& a) { return {a.sizes().begin(), a.sizes().end() - 2}; }

Result<Matrices> matrices_of(const Tensor& a) {
  PT2_TRY(const Tensor wide, copy_as(a, Dtype::complex128, MemoryFormat::contiguous));
  const int64_t rows = a.size(a.dim() - 2);
  const int64_t columns = a.size(a.dim() - 1);
  int64_t count = 1;
  for (int64_t size : batch_of(a)) count *= size;
  Matrices out;
  const auto* source = wide.data<Complex>();
  for (int64_t b = 0; b < count; ++b) {
    Matrix& matrix = out.emplace_back(rows, columns);
    for (Complex& element : matrix.elements) element = *source++;
  }
  return out;
}

// The matrices as a tensor, column-major as LAPACK leaves them unless `row_major`.
Result<Tensor> tensor_of(const Matrices& matrices, Sizes batch, int64_t rows, int64_t columns,
                         Dtype dtype, bool row_major) {
  Sizes sizes = batch;
  sizes.insert(sizes.end(), {rows, columns});
  batch.insert(batch.end(), {columns, rows});
  Sizes strides = contiguous_strides(row_major ? sizes : batch);
  if (!row_major) std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  PT2_TRY(Tensor wide, allocate({Dtype::complex128, sizes}));
  PT2_TRY(Tensor out, allocate({dtype, std::move(sizes), std::move(strides)}));
  auto* target = wide.data<Complex>();
  for (const Matrix& matrix : matrices)
    target = std::copy(matrix.elements.begin(), matrix.elements.end(), target);
  copy_elements(out, wide);
  return out;
}
Result<Tensor> integers_of(std::span<const int64_t> numbers, Sizes sizes) {
  PT2_TRY(Tensor out, allocate({Dtype::int32, std::move(sizes)}));
  for (size_t i = 0; i < numbers.size(); ++i)
    out.data<int32_t>()[i] = static_cast<int32_t>(numbers[i]);
  return out;
}
Result<void> check_info(std::span<const int64_t> infos, bool check_errors, std::string_view what) {
  for (int64_t info : infos)
    if (check_errors && info != 0)
      return operator_error(std::string(what) + " at order " + std::to_string(info));
  return {};
}

// Both with the batch sizes that they broadcast to.
Result<TensorPair> same_batch(const Tensor& a, const Tensor& b) {
  const Sizes batches[] = {batch_of(a), batch_of(b)};
  PT2_TRY(const Sizes batch, broadcast_sizes(batches));
  auto expanded = [&](const Tensor& tensor) {
    Sizes sizes = batch;
    sizes.insert(sizes.end(), tensor.sizes().end() - 2, tensor.sizes().end());
    return expand(tensor, sizes);
  };
  PT2_TRY(Tensor left, expanded(a));
  PT2_TRY(Tensor right, expanded(b));
  return TensorPair(std::move(left), std::move(right));
}

Matrix part_of(const Matrix& matrix, int64_t rows, int64_t columns) {
  Matrix out(rows, columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) out.at(i, j) = matrix.at(i, j);
  return out;
}
}  // namespace pt2::ops
