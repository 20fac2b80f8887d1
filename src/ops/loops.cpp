#include "ops/loops.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace pt2::ops {

ComputeType compute_type(Dtype dtype) {
  switch (dtype_category(dtype)) {
    case DtypeCategory::boolean:
    case DtypeCategory::integer:
      return ComputeType::integer;
    case DtypeCategory::floating:
      return dtype == Dtype::float64 ? ComputeType::twice : ComputeType::single;
    case DtypeCategory::complex:
      return ComputeType::complex;
  }
  return ComputeType::twice;
}

StridedWalk::StridedWalk(std::span<const Tensor* const> views) : count_(views.size()) {
  PT2_CHECK(count_ <= kMaxOperands);
  numel_ = views[0]->numel();
  std::array<int64_t, kMaxOperands> element{};
  for (size_t k = 0; k < count_; ++k) {
    base_[k] = views[k]->raw_data();
    element[k] = dtype_size(views[k]->dtype());
  }
  struct Dimension {
    int64_t size;
    std::array<int64_t, kMaxOperands> strides;
  };
  std::vector<Dimension> dimensions;
  for (size_t i = 0; i < views[0]->sizes().size(); ++i) {
    const int64_t size = views[0]->sizes()[i];
    if (size == 1) continue;
    Dimension dimension{size, {}};
    for (size_t k = 0; k < count_; ++k) dimension.strides[k] = views[k]->strides()[i];
    dimensions.push_back(dimension);
  }
  // The output's smallest stride goes innermost, whatever the memory format.
  std::ranges::stable_sort(dimensions, [](const Dimension& a, const Dimension& b) {
    return a.strides[0] > b.strides[0];
  });
  std::vector<Dimension> merged;
  for (const Dimension& dimension : dimensions) {
    bool even = !merged.empty();
    for (size_t k = 0; even && k < count_; ++k)
      even = merged.back().strides[k] == dimension.strides[k] * dimension.size;
    if (even) {
      merged.back().size *= dimension.size;
      merged.back().strides = dimension.strides;
    } else {
      merged.push_back(dimension);
    }
  }
  if (!merged.empty()) {
    inner_size_ = merged.back().size;
    inner_strides_ = merged.back().strides;
    merged.pop_back();
  }
  for (size_t k = 0; k < count_; ++k) inner_bytes_[k] = inner_strides_[k] * element[k];
  for (const Dimension& dimension : merged) {
    outer_sizes_.push_back(dimension.size);
    auto& bytes = outer_bytes_.emplace_back();
    for (size_t k = 0; k < count_; ++k) bytes[k] = dimension.strides[k] * element[k];
  }
}

bool StridedWalk::advance(std::vector<int64_t>& index,
                          std::array<const std::byte*, kMaxOperands>& row) const {
  for (size_t i = outer_sizes_.size(); i-- > 0;) {
    for (size_t k = 0; k < count_; ++k) row[k] += outer_bytes_[i][k];
    if (++index[i] < outer_sizes_[i]) return true;
    for (size_t k = 0; k < count_; ++k) row[k] -= outer_bytes_[i][k] * outer_sizes_[i];
    index[i] = 0;
  }
  return false;
}

Tensor scalar_tensor(const Scalar& scalar, Dtype dtype) {
  Tensor out = Tensor::zeros(dtype, {});
  fill_elements(out, scalar);
  return out;
}

void copy_elements(Tensor& out, const Tensor& source) {
  const Dtype dtype = source.dtype();
  if (dtype == out.dtype() && source.sizes() == out.sizes() && source.is_contiguous() &&
      out.is_contiguous()) {
    // The two may be the same memory: x.copy_(x).
    if (out.numel() > 0)
      std::memmove(out.raw_data(), source.raw_data(), static_cast<size_t>(out.nbytes()));
    return;
  }
  if (dtype == out.dtype() && dtype_size(dtype) == 8 &&
      dtype_category(dtype) == DtypeCategory::integer)
    return elementwise<int64_t>(
        out, dtype, [](int64_t x) { return x; }, source);

  with_compute_type(dtype, [&]<class C>() {
    elementwise<C>(
        out, dtype, [](C x) { return x; }, source);
  });
}

void fill_elements(Tensor& out, const Scalar& value) {
  if (out.numel() == 0) return;
  std::byte element[16];
  switch (compute_type(out.dtype())) {
    case ComputeType::complex: {
      const Complex number = value.to_complex();
      store_elements<Complex>(&number, 1, out.dtype(), 1, element);
      break;
    }
    case ComputeType::integer: {
      const double number = value.to_double();
      const int64_t integer = value.to_int();
      if (value.is_integral())
        store_elements<int64_t>(&integer, 1, out.dtype(), 1, element);
      else
        store_elements<double>(&number, 1, out.dtype(), 1, element);
      break;
    }
    case ComputeType::single:
    case ComputeType::twice: {
      const double number = value.to_double();
      store_elements<double>(&number, 1, out.dtype(), 1, element);
      break;
    }
  }
  const auto size = static_cast<size_t>(dtype_size(out.dtype()));
  const Tensor* operand = &out;
  const StridedWalk walk(std::span(&operand, 1));
  walk.run([&](const auto& pointers, int64_t count) {
    auto* target = const_cast<std::byte*>(pointers[0]);
    const int64_t step = walk.inner_stride(0) * static_cast<int64_t>(size);
    for (int64_t i = 0; i < count; ++i) std::memcpy(target + i * step, element, size);
  });
}

}  // namespace pt2::ops
