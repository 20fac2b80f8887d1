// Convolutions with few channels, compared with a plain loop over each window.
#include <gtest/gtest.h>

#include <random>

#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/loops.h"

namespace pt2::ops {
namespace {

template <class C>
std::vector<C> elements_in(const Tensor& tensor) {
  Tensor wide = Tensor::zeros(kDtypeOf<C>, tensor.sizes());
  copy_elements(wide, tensor);
  return {wide.as<C>().begin(), wide.as<C>().end()};
}

struct ConvolutionCase {
  Sizes images, kernels;  // [N, C, H, W], [O, C / groups, h, w]
  Sizes stride, padding, dilation;
  int64_t groups;
};

// The operands are integers, so sums are exact in any order.
std::vector<double> convolved(const ConvolutionCase& c, const std::vector<double>& x,
                              const std::vector<double>& w, const Sizes& out) {
  std::vector<double> sums;
  const int64_t share = c.kernels[1];
  for (int64_t n = 0; n < out[0]; ++n)
    for (int64_t o = 0; o < out[1]; ++o)
      for (int64_t y = 0; y < out[2]; ++y)
        for (int64_t z = 0; z < out[3]; ++z) {
          double sum = 0;
          for (int64_t i = 0; i < share; ++i)
            for (int64_t h = 0; h < c.kernels[2]; ++h)
              for (int64_t v = 0; v < c.kernels[3]; ++v) {
                const int64_t row = y * c.stride[0] - c.padding[0] + h * c.dilation[0];
                const int64_t column = z * c.stride[1] - c.padding[1] + v * c.dilation[1];
                if (row < 0 || row >= c.images[2] || column < 0 || column >= c.images[3]) continue;
                const int64_t channel = o / (out[1] / c.groups) * share + i;
                sum +=
                    x[static_cast<size_t>(
                        ((n * c.images[1] + channel) * c.images[2] + row) * c.images[3] + column)] *
                    w[static_cast<size_t>(((o * share + i) * c.kernels[2] + h) * c.kernels[3] + v)];
              }
          sums.push_back(sum);
        }
  return sums;
}

TEST(Convolutions, AreSumsOverWindows) {
  std::mt19937 random(13);
  const auto whole = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  const auto numbers = [&](Dtype dtype, const Sizes& sizes) {
    Tensor out = Tensor::zeros(Dtype::float64, sizes);
    for (int64_t i = 0; i < out.numel(); ++i)
      out.data<double>()[i] = static_cast<double>(whole(-9, 9));
    Tensor cast = Tensor::zeros(dtype, sizes);
    copy_elements(cast, out);
    return cast;
  };
  for (int round = 0; round < 300; ++round) {
    const int64_t groups = whole(1, 4), share = whole(1, 3);
    const ConvolutionCase c{.images = {whole(1, 2), groups * share, whole(1, 9), whole(1, 20)},
                            .kernels = {groups * whole(1, 4), share, whole(1, 4), whole(1, 5)},
                            .stride = {whole(1, 3), whole(1, 3)},
                            .padding = {whole(0, 4), whole(0, 6)},
                            .dilation = {whole(1, 2), whole(1, 3)},
                            .groups = groups};
    const Dtype dtype = std::array{Dtype::float64, Dtype::int64, Dtype::int32,
                                   Dtype::complex128}[static_cast<size_t>(whole(0, 3))];
    const Tensor x = numbers(dtype, c.images), w = numbers(dtype, c.kernels);
    const auto found =
        apply(aten<"convolution.default">,
              {x, w, std::nullopt, c.stride, c.padding, c.dilation, false, Sizes{0, 0}, c.groups});
    if (!found) continue;  // no window fits
    ASSERT_EQ(elements_in<double>(*found),
              convolved(c, elements_in<double>(x), elements_in<double>(w), found->sizes()))
        << "round " << round;
  }
}

}  // namespace
}  // namespace pt2::ops
