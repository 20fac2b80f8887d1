// Image windows as columns of a matrix, and the sum of the columns back into an image: unfold and
// fold of torch.nn.functional.
#include <algorithm>
#include <array>
#include <cstring>

#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/op_def.h"
#include "ops/shape/element_size.h"

namespace pt2::ops {
namespace {

using Pair = std::array<int64_t, 2>;

struct Patches {
  Pair kernel;
  Pair dilation;
  Pair padding;
  Pair stride;
  Pair image;    // height and width
  Pair columns;  // the number of windows along each dimension
};

Result<Pair> pair_of(const Sizes& values, int64_t least, std::string_view what) {
  if (values.size() != 2 || values[0] < least || values[1] < least)
    return operator_error(std::string(what) + ": found " + sizes_text(values) +
                          ", expected 2 numbers of at least " + std::to_string(least));
  return Pair{values[0], values[1]};
}

Result<Patches> make_patches(const Pair& image, const Sizes& kernel, const Sizes& dilation,
                             const Sizes& padding, const Sizes& stride) {
  Patches patches;
  PT2_TRY(patches.kernel, pair_of(kernel, 1, "kernel_size"));
  PT2_TRY(patches.dilation, pair_of(dilation, 1, "dilation"));
  PT2_TRY(patches.padding, pair_of(padding, 0, "padding"));
  PT2_TRY(patches.stride, pair_of(stride, 1, "stride"));
  patches.image = image;
  for (size_t i = 0; i < 2; ++i) {
    PT2_TRY(const int64_t reach, multiply_add(patches.dilation[i], patches.kernel[i] - 1, 1));
    PT2_TRY(const int64_t padded, multiply_add(patches.padding[i], 2, image[i]));
    if (padded < reach)
      return operator_error("kernel_size: found " + sizes_text(kernel) +
                            ", expected what fits into an image of " + std::to_string(image[0]) +
                            " by " + std::to_string(image[1]));
    patches.columns[i] = (padded - reach) / patches.stride[i] + 1;
  }
  return patches;
}

// The windows along one dimension whose element number `tap` is inside of the image.
struct Inside {
  int64_t begin;
  int64_t end;
  int64_t place;  // the image position of the first of these elements
};
Inside inside(const Patches& p, size_t dim, int64_t tap) {
  const int64_t shift = tap * p.dilation[dim] - p.padding[dim];
  const int64_t stride = p.stride[dim];
  // Divides a length >= 0, rounding up. A sum could overflow, because strides may be any int64.
  const auto windows_in = [&](int64_t length) { return length / stride + (length % stride != 0); };
  const int64_t begin = shift < 0 ? windows_in(-shift) : 0;
  const int64_t reach = std::max<int64_t>(p.image[dim] - shift, 0);
  const int64_t end = std::min(p.columns[dim], windows_in(reach));
  return {begin, std::max(begin, end), begin * stride + shift};
}

// Calls visit(position in the matrix [planes * kernel, windows], position in the images, count) for
// runs of window elements inside of their image. The `count` elements of a run are adjacent in the
// matrix and stride[1] apart in the image.
template <class F>
void for_each_run(const Patches& p, int64_t planes, F&& visit) {
  const int64_t windows = p.columns[0] * p.columns[1];
  for (int64_t plane = 0; plane < planes; ++plane)
    for (int64_t tap = 0; tap < p.kernel[0] * p.kernel[1]; ++tap) {
      const Inside rows = inside(p, 0, tap / p.kernel[1]);
      const Inside columns = inside(p, 1, tap % p.kernel[1]);
      if (columns.begin == columns.end) continue;
      const int64_t matrix = (plane * p.kernel[0] * p.kernel[1] + tap) * windows + columns.begin;
      for (int64_t row = rows.begin; row < rows.end; ++row) {
        const int64_t y = rows.place + (row - rows.begin) * p.stride[0];
        visit(matrix + row * p.columns[1], (plane * p.image[0] + y) * p.image[1] + columns.place,
              columns.end - columns.begin);
      }
    }
}

Result<Patches> patches_of(const Tensor& self, const Sizes& kernel_size, const Sizes& dilation,
                           const Sizes& padding, const Sizes& stride) {
  if (self.dim() != 3 && self.dim() != 4)
    return operator_error("self: found " + self.type_text() + ", expected 3 or 4 dims");
  for (int64_t dim = self.dim() - 3; dim < self.dim(); ++dim)
    if (self.size(dim) == 0)
      return operator_error("self: found " + self.type_text() + ", expected only an empty batch");
  return make_patches({self.size(self.dim() - 2), self.size(self.dim() - 1)}, kernel_size, dilation,
                      padding, stride);
}

Result<Meta> im2col_meta(const Tensor& self, const Sizes& kernel_size, const Sizes& dilation,
                         const Sizes& padding, const Sizes& stride) {
  PT2_TRY(const Patches patches, patches_of(self, kernel_size, dilation, padding, stride));
  Sizes sizes(self.sizes().begin(), self.sizes().end() - 2);
  PT2_TRY(const int64_t taps, multiply_add(patches.kernel[0], patches.kernel[1]));
  PT2_TRY(sizes.back(), multiply_add(sizes.back(), taps));
  PT2_TRY(const int64_t windows, multiply_add(patches.columns[0], patches.columns[1]));
  sizes.push_back(windows);
  return Meta(self.dtype(), std::move(sizes));
}

Result<void> im2col(Tensor& out, const Tensor& self, const Sizes& kernel_size,
                    const Sizes& dilation, const Sizes& padding, const Sizes& stride) {
  PT2_TRY(const Patches patches, patches_of(self, kernel_size, dilation, padding, stride));
  const int64_t planes = row_count(self.numel(), patches.image[0] * patches.image[1]);
  const Tensor dense = self.contiguous();
  with_element_size(dtype_size(self.dtype()), [&]<size_t N>() {
    const std::byte* image = dense.raw_data();
    std::byte* matrix = out.raw_data();
    const auto step = static_cast<size_t>(patches.stride[1]) * N;
    for_each_run(patches, planes, [&](int64_t place, int64_t source, int64_t count) {
      std::byte* to = matrix + static_cast<size_t>(place) * N;
      const std::byte* from = image + static_cast<size_t>(source) * N;
      if (step == N) {
        std::memcpy(to, from, static_cast<size_t>(count) * N);
        return;
      }
      for (int64_t i = 0; i < count; ++i, to += N, from += step) std::memcpy(to, from, N);
    });
  });
  return {};
}

Result<Meta> col2im_meta(const Tensor& self, const Sizes& output_size, const Sizes& kernel_size,
                         const Sizes& dilation, const Sizes& padding, const Sizes& stride) {
  if (self.dim() != 2 && self.dim() != 3)
    return operator_error("self: found " + self.type_text() + ", expected 2 or 3 dims");
  PT2_TRY_VOID(check_floating_or_complex(self, "self"));
  PT2_TRY(const Pair image, pair_of(output_size, 1, "output_size"));
  PT2_TRY(const Patches patches, make_patches(image, kernel_size, dilation, padding, stride));
  const int64_t rank = self.dim();
  PT2_TRY(const int64_t taps, multiply_add(patches.kernel[0], patches.kernel[1]));
  PT2_TRY(const int64_t windows, multiply_add(patches.columns[0], patches.columns[1]));
  if (self.size(rank - 2) == 0 || self.size(rank - 2) % taps != 0 || self.size(rank - 1) != windows)
    return operator_error("self: found " + self.type_text() + ", expected a multiple of " +
                          std::to_string(taps) + " rows and " + std::to_string(windows) +
                          " columns");
  Sizes sizes(self.sizes().begin(), self.sizes().end() - 1);
  sizes.back() /= taps;
  sizes.push_back(image[0]);
  sizes.push_back(image[1]);
  return Meta(self.dtype(), std::move(sizes));
}

Result<void> col2im(Tensor& out, const Tensor& self, const Sizes& output_size,
                    const Sizes& kernel_size, const Sizes& dilation, const Sizes& padding,
                    const Sizes& stride) {
  const Pair image = {output_size[0], output_size[1]};
  PT2_TRY(const Patches patches, make_patches(image, kernel_size, dilation, padding, stride));
  const int64_t planes = row_count(out.numel(), image[0] * image[1]);
  with_compute_type(self.dtype(), [&]<class C>() {
    const Input<C> matrix(self);
    Output<C> result(out);
    const int64_t step = patches.stride[1];
    for_each_run(patches, planes, [&](int64_t place, int64_t target, int64_t count) {
      const C* from = matrix.data() + place;
      C* to = result.data() + target;
      if (step == 1)
        for (int64_t i = 0; i < count; ++i) to[i] += from[i];
      else
        for (int64_t i = 0; i < count; ++i) to[i * step] += from[i];
    });
  });
  return {};
}

// clang-format off
constexpr OpDef kPatchesOps[] = {
    op<"aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor", im2col_meta, im2col>.with({.slope = Slope::linear}),
    op<"aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor", col2im_meta, col2im>.with({.slope = Slope::linear}),
};
// clang-format on

}  // namespace

std::span<const OpDef> patches_ops() { return kPatchesOps; }

}  // namespace pt2::ops
