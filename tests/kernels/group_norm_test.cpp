#include "kernels/images/group_norm.h"

#include <cmath>

#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

using test::Random;

// Returns the group norm of channels-first images, computed in double.
std::vector<double> normalized(const GroupNorm& norm, const std::vector<float>& in,
                               const float* weight, const float* bias) {
  std::vector<double> out(in.begin(), in.end());
  const int64_t width = norm.channels / norm.groups, length = width * norm.area;
  for (int64_t group = 0; group < norm.images * norm.groups; ++group) {
    double* const x = out.data() + group * length;
    double mean = 0, squares = 0;
    for (int64_t i = 0; i < length; ++i) mean += x[i] / static_cast<double>(length);
    for (int64_t i = 0; i < length; ++i) squares += (x[i] - mean) * (x[i] - mean);
    const double scale = 1 / std::sqrt(squares / static_cast<double>(length) + norm.epsilon);
    for (int64_t i = 0; i < length; ++i) {
      const int64_t channel = group % norm.groups * width + i / norm.area;
      x[i] = (x[i] - mean) * scale;
      if (weight != nullptr) x[i] *= static_cast<double>(weight[channel]);
      if (bias != nullptr) x[i] += static_cast<double>(bias[channel]);
      if (norm.activation == Activation::relu) x[i] = std::max(x[i], 0.0);
    }
  }
  return out;
}

// Transposes each image from [rows, columns] to [columns, rows].
template <class T>
std::vector<T> turned(const std::vector<T>& in, int64_t images, int64_t rows, int64_t columns) {
  std::vector<T> out(in.size());
  for (int64_t i = 0; i < images; ++i)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        out[static_cast<size_t>((i * columns + c) * rows + r)] =
            in[static_cast<size_t>((i * rows + r) * columns + c)];
  return out;
}

void expect_close(const std::vector<float>& found, const std::vector<double>& expected) {
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_TRUE(test::close_to(found[i], expected[i], 2e-5 * (1 + std::abs(expected[i]))))
        << i << ": " << found[i] << ", expected " << expected[i];
}

TEST(GroupNorm, BothLayoutsAreNormalizedGroupByGroup) {
  test::on_every_target([] {
    Random random(3);
    for (int round = 0; round < 40; ++round) {
      GroupNorm norm{.images = random.whole(1, 3), .groups = random.whole(1, 5), .epsilon = 1e-5};
      norm.channels = norm.groups * random.whole(1, round % 5 == 0 ? 40 : 8);
      norm.area = random.whole(1, round % 4 == 0 ? 3000 : 60);
      norm.activation = round % 3 == 0 ? Activation::relu : Activation::none;
      const std::vector<float> weights = random.numbers(norm.channels),
                               biases = random.numbers(norm.channels);
      const float* weight = round % 2 == 0 ? weights.data() : nullptr;
      const float* bias = round % 7 == 0 ? nullptr : biases.data();
      const std::vector<float> in = random.numbers(norm.images * norm.channels * norm.area, -1, 5);
      const std::vector<double> expected = normalized(norm, in, weight, bias);
      std::vector<float> planes(in.size());
      group_norm_planes(norm, in.data(), weight, bias, planes.data());
      expect_close(planes, expected);
      const std::vector<float> pixels = turned(in, norm.images, norm.channels, norm.area);
      std::vector<float> scratch(static_cast<size_t>(group_norm_scratch(norm))), last(in.size());
      group_norm_channels_last(norm, pixels.data(), weight, bias, scratch.data(), last.data());
      expect_close(last, turned(expected, norm.images, norm.channels, norm.area));
    }
  });
}

TEST(GroupNorm, MomentsAreGivenToWhoAsks) {
  Random random(5);
  for (int round = 0; round < 20; ++round) {
    GroupNorm norm{.images = random.whole(1, 3), .groups = random.whole(1, 5), .epsilon = 1e-5};
    norm.channels = norm.groups * random.whole(1, 8);
    norm.area = random.whole(1, 600);
    const int64_t length = norm.channels / norm.groups * norm.area;
    const std::vector<float> in = random.numbers(norm.images * norm.channels * norm.area, -1, 5);
    std::vector<RowMoments> found(static_cast<size_t>(norm.images * norm.groups));
    norm.moments = found.data();
    const auto expect_moments = [&] {
      for (size_t group = 0; group < found.size(); ++group) {
        const float* x = in.data() + static_cast<int64_t>(group) * length;
        double mean = 0, squares = 0;
        for (int64_t i = 0; i < length; ++i) mean += double{x[i]} / static_cast<double>(length);
        for (int64_t i = 0; i < length; ++i) squares += (x[i] - mean) * (x[i] - mean);
        ASSERT_NEAR(found[group].mean, mean, 1e-5);
        ASSERT_NEAR(found[group].squares, squares, 1e-4 * (1 + squares));
      }
      found.assign(found.size(), RowMoments());
    };
    std::vector<float> out(in.size()), scratch(static_cast<size_t>(group_norm_scratch(norm)));
    group_norm_planes(norm, in.data(), nullptr, nullptr, out.data());
    expect_moments();
    const std::vector<float> pixels = turned(in, norm.images, norm.channels, norm.area);
    group_norm_channels_last(norm, pixels.data(), nullptr, nullptr, scratch.data(), out.data());
    expect_moments();
  }
}

TEST(GroupNorm, ThreadsChangeNoBit) {
  Random random(4);
  const GroupNorm norm{.images = 2, .channels = 24, .groups = 4, .area = 4000, .epsilon = 1e-5};
  const std::vector<float> in = random.numbers(norm.images * norm.channels * norm.area);
  std::vector<float> scratch(static_cast<size_t>(group_norm_scratch(norm)));
  std::vector<float> alone(in.size()), alone_planes(in.size());
  group_norm_channels_last(norm, in.data(), nullptr, nullptr, scratch.data(), alone.data());
  group_norm_planes(norm, in.data(), nullptr, nullptr, alone_planes.data());
  for (const int threads : {2, 4}) {
    ThreadPool pool(threads);
    std::vector<float> out(in.size());
    group_norm_channels_last(norm, in.data(), nullptr, nullptr, scratch.data(), out.data(), &pool);
    EXPECT_TRUE(test::equal_bits(out, alone));
    group_norm_planes(norm, in.data(), nullptr, nullptr, out.data(), &pool);
    EXPECT_TRUE(test::equal_bits(out, alone_planes));
  }
}

}  // namespace
}  // namespace pt2::kernels
