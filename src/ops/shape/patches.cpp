// Image windows as columns of a matrix, and their sum back into an image: unfold and fold of
// torch.nn.functional.
#include <array>

#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

using Pair = std::array<int64_t, 2>;

struct Patches {
  Pair kernel;
  Pair dilation;
  Pair padding;
  Pair stride;
  Pair image;    // height and width
  Pair columns;  // the number of windows along each
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

// Calls visit(place in the matrix [planes * kernel, windows], place in the images) for every window
// element that is inside its image.
template <class F>
void for_each_element(const Patches& p, int64_t planes, F&& visit) {
  const int64_t windows = p.columns[0] * p.columns[1];
  for (int64_t plane = 0; plane < planes; ++plane)
    for (int64_t tap = 0; tap < p.kernel[0] * p.kernel[1]; ++tap)
      for (int64_t window = 0; window < windows; ++window) {
        const int64_t y =
            window / p.columns[1] * p.stride[0] - p.padding[0] + tap / p.kernel[1] * p.dilation[0];
        const int64_t x =
            window % p.columns[1] * p.stride[1] - p.padding[1] + tap % p.kernel[1] * p.dilation[1];
        if (y < 0 || y >= p.image[0] || x < 0 || x >= p.image[1]) continue;
        visit((plane * p.kernel[0] * p.kernel[1] + tap) * windows + window,
              (plane * p.image[0] + y) * p.image[1] + x);
      }
}

Result<Tensor> im2col(const Tensor& self, const Sizes& kernel_size, const Sizes& dilation,
                      const Sizes& padding, const Sizes& stride) {
  if (self.dim() != 3 && self.dim() != 4)
    return operator_error("self: found " + self.type_text() + ", expected 3 or 4 dims");
  for (int64_t dim = self.dim() - 3; dim < self.dim(); ++dim)
    if (self.size(dim) == 0)
      return operator_error("self: found " + self.type_text() + ", expected only an empty batch");
  const int64_t rank = self.dim();
  PT2_TRY(const Patches patches, make_patches({self.size(rank - 2), self.size(rank - 1)},
                                              kernel_size, dilation, padding, stride));
  Sizes sizes(self.sizes().begin(), self.sizes().end() - 2);
  PT2_TRY(const int64_t taps, multiply_add(patches.kernel[0], patches.kernel[1]));
  PT2_TRY(sizes.back(), multiply_add(sizes.back(), taps));
  PT2_TRY(const int64_t windows, multiply_add(patches.columns[0], patches.columns[1]));
  sizes.push_back(windows);
  PT2_TRY(Tensor out, allocate(Meta(self.dtype(), sizes)));
  const int64_t planes = row_count(self.numel(), patches.image[0] * patches.image[1]);
  with_compute_type(self.dtype(), [&]<class C>() {
    const Input<C> image(self);
    Output<C> matrix(out);
    for_each_element(patches, planes,
                     [&](int64_t place, int64_t source) { matrix[place] = image[source]; });
  });
  return out;
}

Result<Tensor> col2im(const Tensor& self, const Sizes& output_size, const Sizes& kernel_size,
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
  PT2_TRY(Tensor out, allocate(Meta(self.dtype(), sizes)));
  const int64_t planes = row_count(out.numel(), image[0] * image[1]);
  with_compute_type(self.dtype(), [&]<class C>() {
    const Input<C> matrix(self);
    Output<C> result(out);
    for_each_element(patches, planes,
                     [&](int64_t place, int64_t target) { result[target] += matrix[place]; });
  });
  return out;
}

// clang-format off
constexpr OpDef kOps[] = {
    op<"aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor", im2col>,
    op<"aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor", col2im>,
};
// clang-format on

}  // namespace

std::span<const OpDef> patches_ops() { return kOps; }

}  // namespace pt2::ops
