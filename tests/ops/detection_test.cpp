#include <gtest/gtest.h>

#include <cmath>

#include "ops/compose.h"
#include "ops/loops.h"

namespace pt2::ops {
namespace {

Tensor waves(const Sizes& sizes, float step, float scale) {
  Tensor out = Tensor::zeros(Dtype::float32, sizes);
  for (int64_t i = 0; i < out.numel(); ++i)
    out.data<float>()[i] = scale * std::sin(step * static_cast<float>(i));
  return out;
}

Tensor cast(const Tensor& tensor, Dtype dtype) {
  Tensor out = Tensor::zeros(dtype, tensor.sizes());
  copy_elements(out, tensor);
  return out;
}

const Operator& deform_conv2d() {
  static const Operator kOperator = find_operator("torch.ops.torchvision.deform_conv2d.default");
  return kOperator;
}

const Operator& roi_align() {
  static const Operator kOperator = find_operator("torch.ops.torchvision.roi_align.default");
  return kOperator;
}
const Operator& roi_pool() {
  static const Operator kOperator = find_operator("torch.ops.torchvision.roi_pool.default");
  return kOperator;
}

// The kernels sample more points than one block of the implementation holds, and points beyond
// every border.
TEST(Detection, DeformedKernelsOfFloatsAreThoseOfDoubles) {
  for (const int64_t offset_groups : {1, 2, 4}) {
    const Tensor input = waves({2, 8, 13, 17}, 0.37f, 1);
    const Tensor weight = waves({6, 4, 3, 3}, 0.53f, 1);
    const Tensor offset = waves({2, offset_groups * 18, 13, 17}, 0.71f, 9);
    const Tensor mask = waves({2, offset_groups * 9, 13, 17}, 0.19f, 1);
    const Tensor bias = waves({6}, 1, 1);
    const auto convolve = [&](Dtype dtype, bool use_mask) {
      return *apply(deform_conv2d,
                    {cast(input, dtype), cast(weight, dtype), cast(offset, dtype),
                     cast(use_mask ? mask : Tensor::zeros(dtype, {0}), dtype), cast(bias, dtype),
                     int64_t{1}, int64_t{1}, int64_t{1}, int64_t{1}, int64_t{1}, int64_t{1},
                     int64_t{2}, offset_groups, use_mask});
    };
    for (const bool use_mask : {false, true}) {
      const Tensor floats = convolve(Dtype::float32, use_mask);
      const Tensor doubles = convolve(Dtype::float64, use_mask);
      const std::span<const float> found = floats.as<float>();
      const std::span<const double> expected = doubles.as<double>();
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 2e-4) << i;
    }
  }
}

// A kernel that samples at position -1 or infinity reads nothing, even if the neighbouring pixel is
// infinite. A NaN position gives NaN.
TEST(Detection, DeformedKernelsSeeNothingOutsideOfTheImage) {
  const Tensor image = Tensor::of<float>({1, 1, 1, 3}, {INFINITY, INFINITY, 1});
  const Tensor offset = Tensor::of<float>({1, 2, 1, 3}, {-1, INFINITY, NAN, 0, 0, 0});
  const auto found =
      apply(deform_conv2d, {image, Tensor::of<float>({1, 1, 1, 1}, {1}), offset,
                            Tensor::zeros(Dtype::float32, {0}), Tensor::of<float>({1}, {0.5f}),
                            int64_t{1}, int64_t{1}, int64_t{0}, int64_t{0}, int64_t{1}, int64_t{1},
                            int64_t{1}, int64_t{1}, false});
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ(found->as<float>()[0], 0.5f);
  EXPECT_EQ(found->as<float>()[1], 0.5f);
  EXPECT_TRUE(std::isnan(found->as<float>()[2]));
}

// Samples beyond every border. The number of samples follows from the region or from the call.
TEST(Detection, RegionsOfFloatsAreThoseOfDoubles) {
  const Tensor input = waves({2, 3, 13, 17}, 0.37f, 1);
  const Tensor regions =
      Tensor::of<float>({3, 5}, {0, 2, 1, 9, 11, 1, -3, -2, 40, 30, 1, 5, 5, 5.5f, 5.5f});
  for (const int64_t samples : {2, -1, 3})
    for (const bool aligned : {false, samples > 0}) {
      const auto pool = [&](Dtype dtype) {
        return *apply(roi_align, {cast(input, dtype), cast(regions, dtype), 0.5, int64_t{4},
                                  int64_t{3}, samples, aligned});
      };
      const Tensor floats = pool(Dtype::float32), doubles = pool(Dtype::float64);
      for (size_t i = 0; i < floats.as<float>().size(); ++i)
        ASSERT_NEAR(floats.as<float>()[i], doubles.as<double>()[i], 1e-5) << i;
    }
}

TEST(Detection, RegionsOfNegativeWidthHaveNoSamples) {
  const Tensor image = waves({1, 1, 4, 4}, 0.37f, 1);
  const Tensor region = Tensor::of<float>({1, 5}, {0, 5, 0, 1, 4});
  for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
    const auto pooled = apply(roi_align, {cast(image, dtype), cast(region, dtype), 1.0, int64_t{2},
                                          int64_t{2}, int64_t{0}, true});
    ASSERT_TRUE(pooled) << pooled.error().text();
    const Tensor found = cast(*pooled, Dtype::float64);
    for (const double number : found.as<double>()) EXPECT_EQ(number, 0);
  }
}

// 7 * (29 / 7) is 29 in float32, and greater than 29 in float64.
TEST(Detection, BinsOfPooledRegionsEndWhereTheirDtypeRounds) {
  Tensor rows = Tensor::zeros(Dtype::float32, {1, 1, 40, 1});
  for (int64_t i = 0; i < 40; ++i) rows.data<float>()[i] = static_cast<float>(i);
  const Tensor region = Tensor::of<float>({1, 5}, {0, 0, 0, 0, 28});
  for (const auto& [dtype, last] :
       {std::pair(Dtype::float32, 28.0), std::pair(Dtype::float64, 29.0)}) {
    const auto results =
        apply_all(roi_pool, {cast(rows, dtype), cast(region, dtype), 1.0, int64_t{7}, int64_t{1}});
    ASSERT_TRUE(results) << results.error().text();
    const Tensor found = cast(*(*results)[0].get_if<Tensor>(), Dtype::float64);
    EXPECT_EQ(found.as<double>()[6], last);
  }
}

}  // namespace
}  // namespace pt2::ops
