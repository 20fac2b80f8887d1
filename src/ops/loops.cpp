#include "ops/loops.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/strided_copy.h"

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
  // The other sizes of an empty tensor may be too large for any memory: compute nothing from them.
  if (numel_ == 0) return;
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
  // The dimension with the output's smallest stride goes innermost, in any memory format.
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

template <class C>
void run_chunks(Tensor& out, Dtype common, std::span<const Tensor> inputs, ChunkLoop<C> loop,
                void* function) {
  constexpr size_t kMaxInputs = StridedWalk::kMaxOperands - 1;
  PT2_CHECK(inputs.size() <= kMaxInputs);
  std::array<const Tensor*, StridedWalk::kMaxOperands> operands{&out};
  for (size_t k = 0; k < inputs.size(); ++k) operands[k + 1] = &inputs[k];
  const StridedWalk walk(std::span<const Tensor* const>(operands.data(), inputs.size() + 1));
  std::array<bool, StridedWalk::kMaxOperands> direct{};
  for (size_t k = 0; k <= inputs.size(); ++k)
    direct[k] = walk.inner_stride(k) == 1 && is_stored_as<C>(operands[k]->dtype()) &&
                (k == 0 || operands[k]->dtype() == common);
  C buffers[StridedWalk::kMaxOperands][kChunk];
  std::array<const C*, kMaxInputs> in{};
  walk.run([&](const auto& pointers, int64_t count) {
    for (size_t k = 0; k < inputs.size(); ++k) {
      const std::byte* source = pointers[k + 1];
      in[k] = buffers[k + 1];
      if (direct[k + 1] && is_place_of<C>(source)) {
        in[k] = reinterpret_cast<const C*>(source);
        continue;
      }
      const Dtype dtype = inputs[k].dtype();
      load_elements<C>(source, walk.inner_stride(k + 1), dtype, count, buffers[k + 1]);
      if (dtype != common) round_elements<C>(common, count, buffers[k + 1]);
    }
    auto* target = const_cast<std::byte*>(pointers[0]);
    if (direct[0] && is_place_of<C>(target))
      return loop(function, reinterpret_cast<C*>(target), in.data(), count);
    loop(function, buffers[0], in.data(), count);
    store_elements<C>(buffers[0], count, out.dtype(), walk.inner_stride(0), target);
  });
}
template void run_chunks<float>(Tensor&, Dtype, std::span<const Tensor>, ChunkLoop<float>, void*);
template void run_chunks<double>(Tensor&, Dtype, std::span<const Tensor>, ChunkLoop<double>, void*);
template void run_chunks<int64_t>(Tensor&, Dtype, std::span<const Tensor>, ChunkLoop<int64_t>,
                                  void*);
template void run_chunks<Complex>(Tensor&, Dtype, std::span<const Tensor>, ChunkLoop<Complex>,
                                  void*);

Tensor scalar_tensor(const Scalar& scalar, Dtype dtype) {
  Tensor out = Tensor::zeros(dtype, {});
  fill_elements(out, scalar);
  return out;
}

Tensor number_tensor(const Scalar& number) {
  constexpr Dtype kWidest[] = {Dtype::bool_, Dtype::int64, Dtype::float64, Dtype::complex128};
  return scalar_tensor(number, kWidest[static_cast<size_t>(number.category())]).as_wrapped_number();
}

Tensor converted_number(const Tensor& number, Dtype dtype) {
  Tensor converted = Tensor::zeros(dtype, {});
  copy_elements(converted, number);
  return converted;
}

void copy_elements(Tensor& out, const Tensor& source) {
  const Dtype dtype = source.dtype();
  if (dtype == out.dtype() && source.sizes() == out.sizes() && source.is_contiguous() &&
      out.is_contiguous()) {
    // Source and destination may be the same memory: x.copy_(x).
    if (out.numel() > 0)
      std::memmove(out.raw_data(), source.raw_data(), static_cast<size_t>(out.nbytes()));
    return;
  }
  if (dtype == out.dtype() && source.sizes() == out.sizes() && source.storage() != out.storage())
    return copy_strided(out.sizes(), static_cast<size_t>(dtype_size(dtype)), source.raw_data(),
                        source.strides(), out.raw_data(), out.strides());
  if (dtype == out.dtype() && dtype_size(dtype) == 8 &&
      dtype_category(dtype) == DtypeCategory::integer)
    return elementwise<int64_t>(
        out, dtype, [](int64_t x) { return x; }, source);

  // int64_t cannot represent numbers from 2^63 on.
  if (dtype == Dtype::uint64 && dtype_category(out.dtype()) > DtypeCategory::integer)
    return elementwise<double>(
        out, Dtype::float64, [](double x) { return x; }, source);
  with_compute_type(dtype, [&]<class C>() {
    elementwise<C>(
        out, dtype, [](C x) { return x; }, source);
  });
}

void fill_elements(Tensor& out, const Scalar& value) {
  if (out.numel() == 0) return;
  std::byte element[16];
  const auto store = [&](auto number) { store_elements(&number, 1, out.dtype(), 1, element); };
  const ComputeType type = compute_type(out.dtype());
  if (type == ComputeType::complex)
    store(value.to_complex());
  else if (type == ComputeType::integer && value.is_integral())
    store(value.to_int());
  else
    store(value.to_double());
  copy_strided(out.sizes(), static_cast<size_t>(dtype_size(out.dtype())), element,
               Sizes(out.sizes().size(), 0), out.raw_data(), out.strides());
}

}  // namespace pt2::ops
