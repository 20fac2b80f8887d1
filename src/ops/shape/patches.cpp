// Image windows as columns of a matrix, and the sum of the columns back into an image: unfold and
// fold of torch.nn.functional.
#include <algorithm>
#include <cstring>

#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/linear/convolution/window_operand.h"
#include "ops/loops.h"
#include "ops/op_def.h"
#include "ops/shape/element_size.h"

namespace pt2::ops {
namespace {

// Height and width are the last two numbers of each Window.
struct Patches {
  ConvolutionShape shape;
  Window kernel{1, 1, 1};
  Window image{1, 1, 1};
  Window columns{1, 1, 1};  // the number of windows along each dimension
};

Result<void> set_pair(Window& out, const Sizes& values, int64_t least, std::string_view what) {
  if (values.size() != 2 || values[0] < least || values[1] < least)
    return operator_error(std::string(what) + ": found " + sizes_text(values) +
                          ", expected 2 numbers of at least " + std::to_string(least));
  std::ranges::copy(values, out.begin() + 1);
  return {};
}

Result<Patches> make_patches(const Window& image, const Sizes& kernel, const Sizes& dilation,
                             const Sizes& padding, const Sizes& stride) {
  Patches patches;
  ConvolutionShape& shape = patches.shape;
  PT2_TRY_VOID(set_pair(patches.kernel, kernel, 1, "kernel_size"));
  PT2_TRY_VOID(set_pair(shape.dilation, dilation, 1, "dilation"));
  PT2_TRY_VOID(set_pair(shape.padding, padding, 0, "padding"));
  PT2_TRY_VOID(set_pair(shape.stride, stride, 1, "stride"));
  patches.image = image;
  for (size_t i = 1; i < 3; ++i) {
    PT2_TRY(const int64_t reach, multiply_add(shape.dilation[i], patches.kernel[i] - 1, 1));
    PT2_TRY(const int64_t padded, multiply_add(shape.padding[i], 2, image[i]));
    if (padded < reach)
      return operator_error("kernel_size: found " + sizes_text(kernel) +
                            ", expected what fits into an image of " + std::to_string(image[1]) +
                            " by " + std::to_string(image[2]));
    patches.columns[i] = (padded - reach) / shape.stride[i] + 1;
  }
  return patches;
}

// Calls visit(position in the matrix [planes * kernel, windows], position in the images, count) for
// runs of window elements inside of their image. The `count` elements of a run are adjacent in the
// matrix and the last stride apart in the image.
template <class F>
void for_each_run(const Patches& p, int64_t planes, F&& visit) {
  const int64_t taps = product(p.kernel);
  for (int64_t row = 0; row < planes * taps; ++row)
    join_rows(p.columns, p.image, place_in(p.kernel, row % taps), p.shape,
              [&](int64_t window, int64_t pixel, int64_t count) {
                visit(row * product(p.columns) + window, row / taps * product(p.image) + pixel,
                      count);
              });
}

Result<Patches> patches_of(const Tensor& self, const Sizes& kernel_size, const Sizes& dilation,
                           const Sizes& padding, const Sizes& stride) {
  if (self.dim() != 3 && self.dim() != 4)
    return operator_error("self: found " + self.type_text() + ", expected 3 or 4 dims");
  for (int64_t dim = self.dim() - 3; dim < self.dim(); ++dim)
    if (self.size(dim) == 0)
      return operator_error("self: found " + self.type_text() + ", expected only an empty batch");
  return make_patches({1, self.size(self.dim() - 2), self.size(self.dim() - 1)}, kernel_size,
                      dilation, padding, stride);
}

Result<Meta> im2col_meta(const Tensor& self, const Sizes& kernel_size, const Sizes& dilation,
                         const Sizes& padding, const Sizes& stride) {
  PT2_TRY(const Patches patches, patches_of(self, kernel_size, dilation, padding, stride));
  Sizes sizes(self.sizes().begin(), self.sizes().end() - 2);
  PT2_TRY(const int64_t taps, multiply_add(patches.kernel[1], patches.kernel[2]));
  PT2_TRY(sizes.back(), multiply_add(sizes.back(), taps));
  PT2_TRY(const int64_t windows, multiply_add(patches.columns[1], patches.columns[2]));
  sizes.push_back(windows);
  return Meta(self.dtype(), std::move(sizes));
}

Result<void> im2col(Tensor& out, const Tensor& self, const Sizes& kernel_size,
                    const Sizes& dilation, const Sizes& padding, const Sizes& stride) {
  PT2_TRY(const Patches patches, patches_of(self, kernel_size, dilation, padding, stride));
  const int64_t planes = row_count(self.numel(), product(patches.image));
  const Tensor dense = self.contiguous();
  with_element_size(dtype_size(self.dtype()), [&]<size_t N>() {
    const std::byte* image = dense.raw_data();
    std::byte* matrix = out.raw_data();
    const auto step = static_cast<size_t>(patches.shape.stride[2]) * N;
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
  Window image{1, 1, 1};
  PT2_TRY_VOID(set_pair(image, output_size, 1, "output_size"));
  PT2_TRY(const Patches patches, make_patches(image, kernel_size, dilation, padding, stride));
  const int64_t rank = self.dim();
  PT2_TRY(const int64_t taps, multiply_add(patches.kernel[1], patches.kernel[2]));
  PT2_TRY(const int64_t windows, multiply_add(patches.columns[1], patches.columns[2]));
  if (self.size(rank - 2) == 0 || self.size(rank - 2) % taps != 0 || self.size(rank - 1) != windows)
    return operator_error("self: found " + self.type_text() + ", expected a multiple of " +
                          std::to_string(taps) + " rows and " + std::to_string(windows) +
                          " columns");
  Sizes sizes(self.sizes().begin(), self.sizes().end() - 1);
  sizes.back() /= taps;
  sizes.insert(sizes.end(), {image[1], image[2]});
  return Meta(self.dtype(), std::move(sizes));
}

Result<void> col2im(Tensor& out, const Tensor& self, const Sizes& output_size,
                    const Sizes& kernel_size, const Sizes& dilation, const Sizes& padding,
                    const Sizes& stride) {
  const Window image{1, output_size[0], output_size[1]};
  PT2_TRY(const Patches patches, make_patches(image, kernel_size, dilation, padding, stride));
  const int64_t planes = row_count(out.numel(), product(image));
  with_compute_type(self.dtype(), [&]<class C>() {
    const Input<C> matrix(self);
    Output<C> result(out);
    const int64_t step = patches.shape.stride[2];
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
