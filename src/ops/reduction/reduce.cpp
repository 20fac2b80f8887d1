#include "ops/reduction/reduce.h"

#include <algorithm>
#include <complex>
#include <functional>
#include <optional>
#include <span>

#include "base/memory_account.h"
#include "kernels/lines.h"
#include "ops/pointwise/copying.h"
#include "ops/reduction/dense_reduce.h"
#include "ops/reduction/over_dims.h"

namespace pt2::ops {

Sizes reduced_sizes(const Tensor& self, const Sizes& dims, bool keepdim) {
  Sizes sizes;
  for (int64_t dim = 0; dim < self.dim(); ++dim) {
    if (std::ranges::find(dims, dim) == dims.end())
      sizes.push_back(self.size(dim));
    else if (keepdim)
      sizes.push_back(1);
  }
  return sizes;
}

Result<Sizes> one_dim(const std::optional<int64_t>& dim, int64_t rank) {
  return wrap_dims(dim ? Sizes{*dim} : Sizes{}, rank);
}

Result<OverDims> over_dims(const Signature& signature, std::span<const Value> arguments) {
  const Tensor& self = *arguments[0].get_if<Tensor>();
  OverDims over;
  for (size_t i = 1; i < arguments.size(); ++i) {
    const Parameter& parameter = signature.parameter_array[i];
    const Value& value = arguments[i];
    if (parameter.type.list) PT2_TRY_VOID(check_max_rank(self));
    if (value.is_none()) continue;
    if (parameter.name == "keepdim") {
      over.keepdim = unbox<bool>(value);
    } else if (parameter.name == "dtype") {
      over.dtype = unbox<Dtype>(value);
    } else if (parameter.name == "dim" && parameter.type.list) {
      over.dims = unbox<Sizes>(value);
      over.is_empty = over.dims.empty();
    } else if (parameter.name == "dim") {
      PT2_TRY_VOID(check_max_rank(self));
      over.dims = {unbox<int64_t>(value)};
    } else {
      over.correction = unbox<Scalar>(value).to_double();
    }
  }
  PT2_TRY(over.dims, wrap_dims(over.dims, self.dim()));
  return over;
}

Result<void> check_not_empty(const Tensor& self, const Sizes& dims) {
  for (int64_t dim : dims)
    if (self.size(dim) == 0)
      return operator_error("self: found " + self.type_text() + ", expected elements along dim " +
                            std::to_string(dim));
  return {};
}

namespace {

// Dimensions that are adjacent in memory and are either all reduced or all kept.
struct Group {
  int64_t size;
  bool reduced;
};

// Returns the groups from the outermost in memory to the innermost. Nothing if the tensor has gaps,
// or if the kept dimensions are not in memory order.
std::optional<std::vector<Group>> groups_of(const Tensor& self, const Sizes& dims) {
  std::vector<int64_t> order;
  for (int64_t dim = 0; dim < self.dim(); ++dim)
    if (self.size(dim) != 1) order.push_back(dim);
  std::ranges::stable_sort(order, std::greater(), [&](int64_t dim) { return self.stride(dim); });
  std::vector<Group> out;
  int64_t left = self.numel(), last_kept = -1;
  for (const int64_t dim : order) {
    left /= self.size(dim);
    if (self.stride(dim) != left) return std::nullopt;
    const bool reduced = std::ranges::find(dims, dim) != dims.end();
    if (!reduced && dim < last_kept) return std::nullopt;
    if (!reduced) last_kept = dim;
    if (!out.empty() && out.back().reduced == reduced)
      out.back().size *= self.size(dim);
    else
      out.push_back({self.size(dim), reduced});
  }
  return out;
}

void reduce_group(kernels::Reduction reduction, int64_t before, int64_t reduced, int64_t after,
                  const float* in, float* out) {
  if (after == 1) return kernels::reduce_rows(reduction, {before, reduced, reduced, 1}, in, out);
  for (int64_t i = 0; i < before; ++i)
    kernels::reduce_columns(reduction, {reduced, after, after, 1}, in + i * reduced * after,
                            out + i * after);
}

// PyTorch divides the sum by a complex number, whose imaginary part 0 makes NaN of infinite parts.
void spread_infinities(std::span<std::complex<float>> means) {
  for (std::complex<float>& mean : means)
    mean = {mean.real() + mean.imag() * 0.0f, mean.imag() - mean.real() * 0.0f};
}

}  // namespace

std::optional<std::vector<ReducedBlocks>> reduced_blocks(const Tensor& self, const Sizes& dims) {
  std::optional<std::vector<Group>> groups = groups_of(self, dims);
  if (!groups) return std::nullopt;
  // Reduces groups from the last to the first; each step reduces the result of the previous one.
  std::vector<ReducedBlocks> out;
  for (int64_t after = 1; !groups->empty(); groups->pop_back()) {
    const Group group = groups->back();
    if (!group.reduced) {
      after *= group.size;
      continue;
    }
    int64_t before = 1;
    for (const Group& each : *groups) before *= each.size;
    out.push_back({before / group.size, group.size, after});
  }
  return out;
}

bool reduce_floats(kernels::Reduction reduction, Tensor& out, const Tensor& self,
                   const Sizes& dims) {
  using kernels::Reduction;
  if (self.dtype() == Dtype::complex64 && out.dtype() == Dtype::complex64) {
    const auto from = view_as_real(self);
    auto to = view_as_real(out);
    if (!from || !to || !reduce_floats(reduction, *to, *from, dims)) return false;
    if (reduction == Reduction::mean)
      spread_infinities({out.data<std::complex<float>>(), static_cast<size_t>(out.numel())});
    return true;
  }
  if (self.dtype() != Dtype::float32 || out.dtype() != Dtype::float32 || !out.is_contiguous() ||
      self.numel() == 0 || dims.empty())
    return false;
  const auto all = reduced_blocks(self, dims);
  if (!all) return false;
  const float* in = self.data<float>();
  if (all->empty()) {
    std::copy_n(in, self.numel(), out.data<float>());
    return true;
  }
  Scratch<float> sums, more;
  for (size_t i = 0; i < all->size(); ++i) {
    const ReducedBlocks& blocks = (*all)[i];
    float* to = out.data<float>();
    if (i + 1 < all->size()) {
      more.assign(static_cast<size_t>(blocks.before * blocks.after), 0.0f);
      to = more.data();
    }
    reduce_group(reduction, blocks.before, blocks.reduced, blocks.after, in, to);
    sums.swap(more);
    in = to;
  }
  return true;
}

}  // namespace pt2::ops
