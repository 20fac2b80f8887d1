// Max pooling, compared with a plain loop over each window, and the dtypes that pooling and
// resizing take.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "ops/compose.h"
#include "ops/loops.h"

namespace pt2::ops {
namespace {

struct Found {
  double value;
  int64_t index;
};

// Returns the first maximum, or the last NaN, of the window with its corner at (top, left).
Found largest_of(const double* plane, int64_t height, int64_t width, int64_t top, int64_t left,
                 const Sizes& kernel, const Sizes& dilation) {
  Found out{-std::numeric_limits<double>::infinity(), -1};
  for (int64_t i = 0; i < kernel[0]; ++i)
    for (int64_t j = 0; j < kernel[1]; ++j) {
      const int64_t y = top + i * dilation[0], x = left + j * dilation[1];
      if (y < 0 || y >= height || x < 0 || x >= width) continue;
      const double number = plane[y * width + x];
      if (out.index < 0) out.index = y * width + x;
      if (number > out.value || std::isnan(number)) out = {number, y * width + x};
    }
  return out;
}

TEST(Pooling, MaximaAreThoseOfEachWindow) {
  std::mt19937 random(12);
  const auto whole = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (int round = 0; round < 400; ++round) {
    const Dtype dtype = whole(0, 1) == 0 ? Dtype::float64 : Dtype::int32;
    const Sizes sizes{whole(0, 2), whole(1, 3), whole(1, 9), whole(1, 23)};
    std::vector<double> numbers(static_cast<size_t>(*checked_numel(sizes)));
    for (double& number : numbers) number = static_cast<double>(whole(-5, 5));
    if (dtype == Dtype::float64 && !numbers.empty() && whole(0, 2) == 0) {
      numbers[static_cast<size_t>(whole(0, static_cast<int64_t>(numbers.size()) - 1))] = NAN;
      numbers[0] = -std::numeric_limits<double>::infinity();
    }
    Tensor self = Tensor::zeros(dtype, sizes);
    copy_elements(self,
                  Tensor::from<double>(Dtype::float64, sizes, std::span<const double>(numbers)));
    const Sizes kernel{whole(1, 4), whole(1, 6)}, stride{whole(1, 3), whole(1, 4)},
        padding{whole(0, kernel[0] / 2), whole(0, kernel[1] / 2)},
        dilation{whole(1, 2), whole(1, 3)};
    const auto pooled = apply_all(aten<"max_pool2d_with_indices.default">,
                                  {Value(self), box(kernel), box(stride), box(padding),
                                   box(dilation), Value(whole(0, 1) == 0)});
    if (!pooled) continue;  // no window fits
    const Tensor &values = *(*pooled)[0].get_if<Tensor>(),
                 &indices = *(*pooled)[1].get_if<Tensor>();
    Tensor wide = Tensor::zeros(Dtype::float64, values.sizes());
    copy_elements(wide, values);
    const int64_t rows = values.size(2), columns = values.size(3);
    for (int64_t i = 0; i < values.numel(); ++i) {
      const Found expected =
          largest_of(numbers.data() + i / (rows * columns) * sizes[2] * sizes[3], sizes[2],
                     sizes[3], i / columns % rows * stride[0] - padding[0],
                     i % columns * stride[1] - padding[1], kernel, dilation);
      const double found = wide.as<double>()[static_cast<size_t>(i)];
      ASSERT_TRUE(found == expected.value || (std::isnan(found) && std::isnan(expected.value)) ||
                  (dtype == Dtype::int32 && std::isinf(expected.value)));
      if (expected.index < 0) continue;  // a window in the padding alone
      ASSERT_EQ(indices.as<int64_t>()[static_cast<size_t>(i)], expected.index) << "round " << round;
    }
  }
}

// Padding may be so wide that a loop over its taps would not end in time.
TEST(Pooling, TapsInThePaddingCostNothing) {
  constexpr int64_t kHuge = int64_t{1} << 40;
  const Tensor self = Tensor::of<double>({1, 1, 1, 3}, {1.0, 3.0, 2.0});
  const auto pooled =
      apply_all(aten<"max_pool2d_with_indices.default">,
                {Value(self), box(Sizes{1, kHuge}), box(Sizes{1, 1}), box(Sizes{0, kHuge / 2})});
  ASSERT_TRUE(pooled) << pooled.error().text();
  for (const double value : (*pooled)[0].get_if<Tensor>()->as<double>()) EXPECT_EQ(value, 3);
}

TEST(Pooling, AdaptiveMaximaOfNoChannelsAreNone) {
  const auto pooled = [](const Sizes& sizes) {
    return apply_all(aten<"adaptive_max_pool2d.default">,
                     {Tensor::zeros(Dtype::float32, sizes), box(Sizes{2, 3})});
  };
  const auto none = pooled({0, 4, 4});
  ASSERT_TRUE(none) << none.error().text();
  EXPECT_EQ((*none)[0].get_if<Tensor>()->sizes(), (Sizes{0, 2, 3}));
  EXPECT_TRUE(pooled({0, 2, 4, 4}));
  EXPECT_FALSE(pooled({2, 0, 4, 4}));
}

// As torch 2.15 gives them.
TEST(Pooling, GradientsOfWholeMeansAreRoundedTowardsZero) {
  const auto spread = [](Handle handle, const Tensor& gradient, const Tensor& self, Sizes kernel) {
    const Sizes padding(kernel.size(), 0);
    return apply(handle,
                 {gradient, self, kernel, kernel, padding, false, true, std::optional<int64_t>()});
  };
  const Tensor gradient = Tensor::of<int64_t>({1, 1, 2}, {-50, 41});
  const auto image = spread(aten<"avg_pool2d_backward.default">, gradient,
                            Tensor::zeros(Dtype::int64, {1, 2, 4}), {2, 2});
  ASSERT_TRUE(image) << image.error().text();
  const auto found = image->as<int64_t>();
  EXPECT_EQ(std::vector<int64_t>(found.begin(), found.end()),
            (std::vector<int64_t>{-12, -12, 10, 10, -12, -12, 10, 10}));
  const auto volume =
      spread(aten<"avg_pool3d_backward.default">, Tensor::of<int64_t>({1, 1, 1, 1}, {-50}),
             Tensor::zeros(Dtype::int64, {1, 1, 3, 3}), {1, 3, 3});
  ASSERT_TRUE(volume) << volume.error().text();
  for (const int64_t each : volume->as<int64_t>()) EXPECT_EQ(each, -5);
  EXPECT_FALSE(apply(aten<"_adaptive_avg_pool2d_backward.default">,
                     {gradient, Tensor::zeros(Dtype::int64, {1, 2, 4})}));
}

TEST(Pooling, AntialiasedImagesThatKeepTheirSizesAreCopied) {
  const auto resized = [](Dtype dtype, const Sizes& size) {
    Tensor image = Tensor::zeros(dtype, {1, 1, 2, 3});
    copy_elements(image, Tensor::of<int64_t>({1, 1, 2, 3}, {0, 1, 2, 3, 4, 5}));
    return apply(aten<"_upsample_bilinear2d_aa.default">,
                 {image, size, false, std::optional<double>(), std::optional<double>()});
  };
  for (const Dtype dtype : {Dtype::int64, Dtype::int8, Dtype::float16, Dtype::complex64}) {
    const auto same = resized(dtype, {2, 3});
    ASSERT_TRUE(same) << same.error().text();
    EXPECT_EQ(same->dtype(), dtype);
    Tensor wide = Tensor::zeros(Dtype::int64, same->sizes());
    copy_elements(wide, *same);
    for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(wide.as<int64_t>()[static_cast<size_t>(i)], i);
    EXPECT_FALSE(resized(dtype, {2, 2}));
  }
}

}  // namespace
}  // namespace pt2::ops
