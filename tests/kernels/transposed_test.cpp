#include "kernels/images/transposed.h"

#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

using test::Random;

struct Case {
  TransposedConvolution shape;
  Activation activation = Activation::none;
  std::vector<float> images, kernels, bias, packed, scratch, out;

  Case(Random& random, int64_t rank, int64_t most_size, int64_t most_channels) {
    shape.batch = random.whole(1, 2);
    shape.groups = random.whole(1, 3) == 3 ? 2 : 1;
    shape.in_channels = shape.groups * random.whole(1, most_channels);
    shape.out_channels = shape.groups * random.whole(1, most_channels);
    // A depthwise convolution.
    if (random.whole(1, 4) == 4)
      shape.groups = shape.in_channels = shape.out_channels = random.whole(1, 20);
    for (int64_t i = 0; i < rank; ++i) {
      // The only dimension of a signal is stored as the height.
      const auto dim = static_cast<size_t>(rank == 1 ? 1 : 3 - rank + i);
      shape.in[dim] = random.whole(1, most_size);
      shape.kernel[dim] = random.whole(1, 4);
      shape.stride[dim] = random.whole(1, 3);
      shape.dilation[dim] = random.whole(1, 3) == 3 ? 2 : 1;
      const int64_t whole = (shape.in[dim] - 1) * shape.stride[dim] +
                            (shape.kernel[dim] - 1) * shape.dilation[dim] + 1;
      shape.pad[dim] = random.whole(0, std::min<int64_t>(2, whole - 1));
      shape.out[dim] = std::max<int64_t>(1, whole - 2 * shape.pad[dim] + random.whole(0, 2));
    }
    const auto volume = [](const auto& extents) { return extents[0] * extents[1] * extents[2]; };
    images = random.numbers(shape.batch * volume(shape.in) * shape.in_channels);
    kernels = random.numbers(shape.in_channels * shape.out_channels / shape.groups *
                             volume(shape.kernel));
    if (random.whole(0, 1) == 1) bias = random.numbers(shape.out_channels);
    if (random.whole(0, 1) == 1) activation = Activation::relu;
    out.resize(static_cast<size_t>(shape.batch * volume(shape.out) * shape.out_channels));
  }

  void run(ThreadPool* pool = nullptr) {
    packed.assign(static_cast<size_t>(packed_transposed_size(shape)), NAN);
    scratch.assign(static_cast<size_t>(transposed_scratch_size(shape)), NAN);
    std::fill(out.begin(), out.end(), NAN);
    pack_transposed(shape, kernels.data(), packed.data(), pool);
    convolve_transposed(shape, images.data(), packed.data(), bias.empty() ? nullptr : bias.data(),
                        activation, out.data(), scratch.data(), pool);
  }

  // Returns the expected result: each element of an image is added to all pixels of its window.
  std::vector<double> expected() const {
    std::vector<double> sums(out.size(), 0);
    const int64_t depth = shape.in_channels / shape.groups,
                  channels = shape.out_channels / shape.groups;
    for (size_t i = 0; i < images.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      const int64_t from = at % shape.in_channels, group = from / depth;
      int64_t place[3], rest = at / shape.in_channels;
      for (size_t dim = 3; dim-- > 0; rest /= shape.in[dim]) place[dim] = rest % shape.in[dim];
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t z = 0; z < shape.kernel[0]; ++z)
          for (int64_t y = 0; y < shape.kernel[1]; ++y)
            for (int64_t x = 0; x < shape.kernel[2]; ++x) {
              const int64_t tap[3] = {z, y, x};
              int64_t to = rest, weight = from * channels + c;
              bool inside = true;
              for (size_t dim = 0; dim < 3; ++dim) {
                const int64_t target = place[dim] * shape.stride[dim] - shape.pad[dim] +
                                       tap[dim] * shape.dilation[dim];
                inside = inside && target >= 0 && target < shape.out[dim];
                to = to * shape.out[dim] + target;
                weight = weight * shape.kernel[dim] + tap[dim];
              }
              if (inside)
                sums[static_cast<size_t>(to * shape.out_channels + group * channels + c)] +=
                    double{images[i]} * kernels[static_cast<size_t>(weight)];
            }
    }
    for (size_t i = 0; i < sums.size(); ++i) {
      if (!bias.empty()) sums[i] += bias[i % static_cast<size_t>(shape.out_channels)];
      if (activation == Activation::relu) sums[i] = std::max(sums[i], 0.0);
    }
    return sums;
  }

  void check() const {
    const std::vector<double> sums = expected();
    for (size_t i = 0; i < sums.size(); ++i)
      ASSERT_TRUE(test::close_to(out[i], sums[i], 2e-5)) << i << ": " << out[i] << ", " << sums[i];
  }
};

TEST(TransposedTest, EqualsAPlainLoop) {
  test::on_every_target([] {
    Random random(1);
    for (int i = 0; i < 60; ++i) {
      Case plain(random, 1 + i % 3, i % 3 == 2 ? 4 : 7, 20);
      plain.run();
      plain.check();
    }
  });
}

TEST(TransposedTest, WindowsOfManyBands) {
  Random random(2);
  for (int i = 0; i < 6; ++i) {
    Case plain(random, 2, 90, 24);
    plain.run();
    plain.check();
  }
}

TEST(TransposedTest, EqualToTheBitForAnyNumberOfThreads) {
  ThreadPool pool(3);
  Random random(3);
  for (int i = 0; i < 6; ++i) {
    Case plain(random, 1 + i % 3, i % 3 == 2 ? 6 : 80, 24);
    plain.run();
    const std::vector<float> alone = plain.out;
    plain.run(&pool);
    ASSERT_TRUE(test::equal_bits(plain.out, alone));
  }
}

}  // namespace
}  // namespace pt2::kernels
