#include "ops/linear/matrices.h"

#include <algorithm>
#include <array>

#include "ops/checks.h"
#include "ops/compose.h"

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

Sizes batch_of(const Tensor& a, std::initializer_list<int64_t> more) {
  Sizes out(a.sizes().begin(), a.sizes().end() - 2);
  out.insert(out.end(), more);
  return out;
}

bool holds_vectors(const Tensor& a, const Tensor& b) {
  return b.dim() == a.dim() - 1 &&
         std::equal(b.sizes().begin(), b.sizes().end(), a.sizes().begin());
}

Tensor with_batch(const Tensor& a, const Sizes& batch) {
  Sizes sizes = batch;
  sizes.insert(sizes.end(), a.sizes().end() - 2, a.sizes().end());
  return broadcast_to(a, sizes);
}

Meta meta_of(Dtype dtype, Sizes batch, int64_t rows, int64_t columns, bool row_major) {
  Sizes stored = batch;
  stored.insert(stored.end(), {row_major ? rows : columns, row_major ? columns : rows});
  Sizes strides = contiguous_strides(stored);
  if (!row_major) std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  batch.insert(batch.end(), {rows, columns});
  return Meta(dtype, std::move(batch), std::move(strides));
}

Precision precision_of(const Tensor& a) {
  return real_dtype(a.dtype()) == Dtype::float32 ? Precision::of<float>() : Precision::of<double>();
}
Result<void> check_svd_operand(const Tensor& a) {
  return with_field(a, [&]<class T>() -> Result<void> {
    const Input<T> elements(a);
    const bool has_nan = std::any_of(elements.data(), elements.data() + elements.size(),
                                     [](const T& x) { return x != x; });
    if (has_nan) return operator_error("A: found NaN, expected numbers: no iteration ends there");
    return {};
  });
}
Result<Tensor> singular_values(const Tensor& a) {
  PT2_TRY_VOID(check_svd_operand(a));
  return with_field(a, [&]<class T>() -> Result<Tensor> {
    const int64_t count = std::min(rows_of(a), columns_of(a));
    PT2_TRY(Matrices<T> matrices, Matrices<T>::copy_of(a));
    PT2_TRY(Tensor values, allocate({Dtype::float64, batch_of(a, {count})}));
    for (int64_t i = 0; i < matrices.count(); ++i)
      factor_svd(matrices[i], values.data<double>() + i * count, {}, {}, precision_of(a));
    return values;
  });
}
void set_integers(Tensor& out, std::span<const int64_t> numbers) {
  std::ranges::copy(numbers, Output<int64_t>(out).data());
}
Result<void> set_infos(Tensor& out, std::span<const int64_t> infos, bool check_errors,
                       std::string_view what) {
  for (int64_t info : infos)
    if (check_errors && info != 0)
      return operator_error(std::string(what) + " at order " + std::to_string(info));
  set_integers(out, infos);
  return {};
}

Result<Tensor> in_columns(Emitter& e, const Result<Tensor>& matrices) {
  const auto turned = e(aten<"mT.default">, {matrices});
  return e(aten<"mT.default">, {e(aten<"clone.default">, {turned, MemoryFormat::contiguous})});
}

Result<TensorPair> same_batch(const Tensor& a, const Tensor& b) {
  PT2_TRY(const Sizes batch, broadcast_sizes(std::array{batch_of(a), batch_of(b)}));
  return TensorPair(with_batch(a, batch), with_batch(b, batch));
}
}  // namespace pt2::ops
