// Compares every kernel with the machine's limits: arithmetic as a share of the measured peak of
// multiply-adds, moved bytes as a share of the bandwidth of a copy.
// kernels_bench [NAME] [--threads N] runs only kernels whose names begin with NAME.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/attention.h"
#include "kernels/dtypes/mapped_copy.h"
#include "kernels/images/convolution.h"
#include "kernels/images/group_norm.h"
#include "kernels/images/pooling.h"
#include "kernels/images/transposed.h"
#include "kernels/images/winograd.h"
#include "kernels/layouts.h"
#include "kernels/pointwise.h"
#include "kernels/products/half_products.h"
#include "kernels/products/product.h"
#include "kernels/products/quantized_products.h"
#include "kernels/products/row_products.h"
#include "kernels/rows.h"
#include "kernels/targets.h"
#include "kernels/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/kernels_bench.cpp"
#include <hwy/foreach_target.h>
// Must be included after foreach_target.h.
#include <hwy/highway.h>

#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::bench {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Computes independent multiply-adds in ten registers. Returns their number.
int64_t multiply_adds(int64_t rounds, float* sink) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  V sums[10];
  for (V& sum : sums) sum = hn::Set(d, sink[0]);
  const V factor = hn::Set(d, 0.999f);
  for (int64_t i = 0; i < rounds; ++i)
#pragma GCC unroll 10
    for (V& sum : sums) sum = hn::MulAdd(sum, factor, factor);
  V total = sums[0];
  for (V& sum : sums) total = hn::Add(total, sum);
  sink[0] = hn::GetLane(total);
  return rounds * 10 * static_cast<int64_t>(hn::Lanes(d));
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::bench {
PT2_EXPORT(multiply_adds);
namespace {

using kernels::Product;
using kernels::ThreadPool;

// Returns the seconds of the fastest call, of as many calls as fit into 200 ms.
double fastest(const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  call();
  const auto end = Clock::now() + std::chrono::milliseconds(200);
  do {
    const auto start = Clock::now();
    call();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  } while (Clock::now() < end);
  return best;
}

struct Free {
  void operator()(float* memory) const { std::free(memory); }
};
using Floats = std::unique_ptr<float[], Free>;
Floats make_floats(int64_t count) {
  const size_t bytes = (static_cast<size_t>(count) + 32) / 16 * 64;
  Floats values(static_cast<float*>(std::aligned_alloc(64, bytes)));
  for (int64_t i = 0; i < count; ++i)
    values[static_cast<size_t>(i)] = static_cast<float>(i % 17) * 0.1f - 0.8f;
  return values;
}

class Bench {
 public:
  Bench(std::string_view filter, ThreadPool& pool) : filter_(filter), pool_(pool) {
    const int64_t threads = pool.threads();
    const double flops = fastest([&] {
      kernels::run_tasks(&pool, threads, [](int64_t, int) {
        float sink = 0.5f;
        PT2_DISPATCH(multiply_adds)(100000, &sink);
      });
    });
    float sink = 0.5f;
    const int64_t terms = PT2_DISPATCH(multiply_adds)(100000, &sink);
    peak_ = 2.0 * static_cast<double>(terms * threads) / flops;
    const int64_t count = int64_t{1} << 24;
    const Floats from = make_floats(count);
    const Floats to = make_floats(count);
    const double seconds = fastest([&] {
      kernels::run_tasks(&pool, threads, [&](int64_t task, int) {
        const int64_t begin = kernels::part_begin(count, threads, task);
        const int64_t end = kernels::part_begin(count, threads, task + 1);
        std::memcpy(to.get() + begin, from.get() + begin,
                    static_cast<size_t>(end - begin) * sizeof(float));
      });
    });
    bandwidth_ = 2.0 * sizeof(float) * static_cast<double>(count) / seconds;
    std::printf("%s, %d threads: peak %.1f GFLOP/s, copy %.1f GB/s (64 MB, read + written)\n\n",
                std::string(kernels::target_names().front()).c_str(), pool.threads(), peak_ / 1e9,
                bandwidth_ / 1e9);
    std::printf("%-44s %10s %9s %6s %8s %6s\n", "", "us", "GFLOP/s", "peak", "GB/s", "copy");
  }

  bool wants(std::string_view name) const { return name.starts_with(filter_); }
  ThreadPool* pool() const { return &pool_; }

  void report(const std::string& name, double flops, double bytes,
              const std::function<void()>& call) const {
    if (!wants(name)) return;
    const double seconds = fastest(call);
    std::printf("%-44s %10.1f %9.1f %5.0f%% %8.1f %5.0f%%\n", name.c_str(), seconds * 1e6,
                flops / seconds / 1e9, 100 * flops / seconds / peak_, bytes / seconds / 1e9,
                100 * bytes / seconds / bandwidth_);
    std::fflush(stdout);
  }

 private:
  std::string_view filter_;
  ThreadPool& pool_;
  double peak_ = 0;
  double bandwidth_ = 0;
};

double bytes_of(int64_t floats) { return static_cast<double>(floats) * sizeof(float); }

void bench_products(const Bench& bench) {
  if (!bench.wants("product")) return;
  const struct {
    int64_t rows, columns, depth;
  } shapes[] = {{1024, 1024, 1024}, {128, 768, 768},  {128, 3072, 768}, {128, 768, 3072},
                {197, 768, 768},    {197, 3072, 768}, {197, 768, 3072}, {3136, 64, 64},
                {3136, 256, 64},    {3136, 64, 256},  {784, 512, 128},  {196, 1024, 256},
                {49, 2048, 512},    {49, 512, 2048},  {12544, 16, 64},  {3136, 24, 72},
                {784, 40, 120},     {196, 112, 480},  {49, 960, 160},   {1, 4096, 4096},
                {4, 4096, 4096},    {1, 1000, 2048}};
  for (const auto& [rows, columns, depth] : shapes) {
    const Floats left = make_floats(rows * depth);
    const Floats right = make_floats(columns * depth);
    const Floats packed = make_floats(kernels::packed_size(depth, columns));
    const Floats out = make_floats(rows * columns);
    const Floats bias = make_floats(columns);
    const kernels::Packing packing{
        .depth = depth, .columns = columns, .depth_stride = 1, .column_stride = depth};
    kernels::pack_right(right.get(), packing, packed.get(), bench.pool());
    const Product product{
        .rows = rows,
        .columns = columns,
        .depth = depth,
        .left = left.get(),
        .left_stride = depth,
        .packed = packed.get(),
        .out = out.get(),
        .out_stride = columns,
        .epilogue = {.bias = bias.get(), .activation = kernels::Activation::relu}};
    const std::string shape =
        std::to_string(rows) + " x " + std::to_string(columns) + " x " + std::to_string(depth);
    const double flops = 2.0 * static_cast<double>(rows * columns * depth);
    bench.report("product " + shape, flops,
                 bytes_of(rows * depth + columns * depth + rows * columns),
                 [&] { kernels::multiply_packed(product, bench.pool()); });
    if (rows == 128 && columns == depth)
      bench.report("product_packing " + shape, 0, bytes_of(2 * columns * depth),
                   [&] { kernels::pack_right(right.get(), packing, packed.get(), bench.pool()); });
  }
}

void bench_row_products(const Bench& bench) {
  if (!bench.wants("row_product")) return;
  const struct {
    int64_t rows, columns, depth;
  } shapes[] = {{1, 2048, 2048}, {1, 8192, 2048}, {1, 50257, 768}, {4, 8192, 2048}};
  for (const auto& [rows, columns, depth] : shapes) {
    const Floats left = make_floats(rows * depth);
    const Floats right = make_floats(columns * depth);
    const Floats out = make_floats(rows * columns);
    const kernels::RowProduct product{.rows = rows,
                                      .columns = columns,
                                      .depth = depth,
                                      .left = left.get(),
                                      .left_stride = depth,
                                      .right = right.get(),
                                      .right_stride = depth,
                                      .out = out.get(),
                                      .out_stride = columns,
                                      .epilogue = {}};
    bench.report("row_product " + std::to_string(rows) + " x " + std::to_string(columns) + " x " +
                     std::to_string(depth),
                 2.0 * static_cast<double>(rows * columns * depth), bytes_of(columns * depth),
                 [&] { kernels::multiply_rows(product, bench.pool()); });
  }
}

void bench_half_products(const Bench& bench) {
  const struct {
    int64_t rows, columns, depth;
  } shapes[] = {{128, 768, 768}, {128, 3072, 768}, {1, 8192, 2048}};
  for (const auto type : {kernels::Rounding::bfloat16, kernels::Rounding::half})
    for (const auto& [rows, columns, depth] : shapes) {
      const std::vector<uint16_t> left(static_cast<size_t>(rows * depth), 0x3C00);
      const std::vector<uint16_t> right(static_cast<size_t>(columns * depth), 0x3C00);
      const Floats wide = make_floats(rows * depth);
      const Floats packed = make_floats(kernels::packed_half_size(depth, columns) / 2 + 1);
      const Floats out = make_floats(rows * columns);
      const kernels::HalfWeights weights{.type = type,
                                         .depth = depth,
                                         .columns = columns,
                                         .right = right.data(),
                                         .column_stride = depth};
      auto* panels = reinterpret_cast<uint16_t*>(packed.get());
      kernels::pack_halves(weights, panels, bench.pool());
      const kernels::HalfProduct product{.rows = rows,
                                         .left = left.data(),
                                         .left_stride = depth,
                                         .out = out.get(),
                                         .out_stride = columns};
      const kernels::RowProduct row{.rows = rows,
                                    .left = wide.get(),
                                    .left_stride = depth,
                                    .out = out.get(),
                                    .out_stride = columns,
                                    .epilogue = {}};
      bench.report(
          std::string(type == kernels::Rounding::half ? "half" : "bfloat16") + "_product " +
              std::to_string(rows) + " x " + std::to_string(columns) + " x " +
              std::to_string(depth),
          2.0 * static_cast<double>(rows * columns * depth), bytes_of(columns * depth) / 2, [&] {
            if (rows == 1)
              kernels::multiply_half_rows(row, weights, {left.data(), depth}, bench.pool());
            else
              kernels::multiply_packed_halves(product, weights, panels, bench.pool());
          });
    }
}

void bench_quantized_products(const Bench& bench) {
  const struct {
    int64_t rows, columns, depth;
  } shapes[] = {{128, 768, 768}, {197, 3072, 768}, {3136, 64, 64}, {49, 512, 4608}};
  for (const auto& [rows, columns, depth] : shapes) {
    const std::vector<uint8_t> left(static_cast<size_t>(rows * depth), 77);
    const std::vector<int8_t> right(static_cast<size_t>(columns * depth), -7);
    const Floats factors = make_floats(columns);
    const Floats packed = make_floats(kernels::packed_quantized_size(depth, columns) / 4 + 1);
    const Floats out = make_floats(rows * columns);
    const Floats scratch = make_floats(kernels::quantized_scratch_size(rows, depth, columns, 0));
    const kernels::LevelWeights weights{.depth = depth,
                                        .columns = columns,
                                        .right = right.data(),
                                        .column_stride = depth,
                                        .factors = factors.get()};
    auto* panels = reinterpret_cast<int8_t*>(packed.get());
    kernels::pack_quantized(weights, panels, bench.pool());
    const kernels::LevelMatrix matrix{left.data(), depth};
    const kernels::QuantizedProduct product{.rows = rows,
                                            .left = matrix.rows(),
                                            .zero = 3,
                                            .out = out.get(),
                                            .out_stride = columns,
                                            .epilogue = {},
                                            .scratch = scratch.get()};
    bench.report("quantized_product " + std::to_string(rows) + " x " + std::to_string(columns) +
                     " x " + std::to_string(depth),
                 2.0 * static_cast<double>(rows * columns * depth), bytes_of(columns * depth) / 4,
                 [&] { kernels::multiply_quantized(product, weights, panels, bench.pool()); });
  }
}

struct ImageShape {
  const char* name;
  int64_t in, channels, out_channels, kernel, stride, groups;
  bool planar;
};

void bench_convolution(const Bench& bench, const ImageShape& image) {
  kernels::Convolution shape;
  shape.in_height = shape.in_width = image.in;
  shape.in_channels = image.channels;
  shape.out_channels = image.out_channels;
  shape.kernel_height = shape.kernel_width = image.kernel;
  shape.stride_y = shape.stride_x = image.stride;
  shape.pad_top = shape.pad_left = image.kernel / 2;
  shape.out_height = shape.out_width = (image.in + image.stride - 1) / image.stride;
  shape.groups = image.groups;
  shape.planar = image.planar;
  const int64_t in_size = image.in * image.in * image.channels;
  const int64_t out_size = shape.out_height * shape.out_width * image.out_channels;
  const int64_t kernel_size =
      image.out_channels * image.channels / image.groups * image.kernel * image.kernel;
  const Floats in = make_floats(in_size);
  const Floats kernels = make_floats(kernel_size);
  const Floats packed = make_floats(kernels::packed_kernels_size(shape));
  const Floats out = make_floats(out_size);
  const Floats bias = make_floats(image.out_channels);
  kernels::pack_kernels(shape, kernels.get(), packed.get(), bench.pool());
  kernels::Images images{.data = in.get(), .image_stride = in_size};
  images.pixel_stride = image.planar ? 1 : image.channels;
  images.row_stride = image.in * images.pixel_stride;
  images.channel_stride = image.planar ? image.in * image.in : 1;
  kernels::ConvolutionOperands operands{
      .images = images,
      .packed = packed.get(),
      .out = out.get(),
      .out_stride = image.out_channels,
      .epilogue = {.bias = bias.get(), .activation = kernels::Activation::relu}};
  bench.report(std::string("convolution ") + image.name,
               2.0 * static_cast<double>(kernel_size * shape.out_height * shape.out_width),
               bytes_of(in_size + out_size + kernel_size),
               [&] { kernels::convolve(shape, operands, bench.pool()); });
  if (!kernels::suits_winograd(shape)) return;
  const Floats transformed = make_floats(kernels::winograd_kernels_size(shape));
  const Floats scratch =
      make_floats(kernels::winograd_scratch_size(shape, kernels::thread_count(bench.pool())));
  kernels::pack_winograd_kernels(shape, kernels.get(), transformed.get(), bench.pool());
  operands.packed = transformed.get();
  bench.report(std::string("convolution, Winograd, ") + image.name,
               2.0 * static_cast<double>(kernel_size * shape.out_height * shape.out_width),
               bytes_of(in_size + out_size + kernel_size),
               [&] { kernels::convolve_winograd(shape, operands, scratch.get(), bench.pool()); });
}

void bench_convolutions(const Bench& bench) {
  if (!bench.wants("convolution")) return;
  const ImageShape shapes[] = {
      {"stem 7x7/2, 3 to 64 of 224", 224, 3, 64, 7, 2, 1, true},
      {"stem 3x3/2, 3 to 16 of 224", 224, 3, 16, 3, 2, 1, true},
      {"3x3, 64 of 56", 56, 64, 64, 3, 1, 1, false},
      {"3x3, 128 of 28", 28, 128, 128, 3, 1, 1, false},
      {"3x3, 256 of 14", 14, 256, 256, 3, 1, 1, false},
      {"3x3, 512 of 7", 7, 512, 512, 3, 1, 1, false},
      {"3x3/2, 128 of 56", 56, 128, 128, 3, 2, 1, false},
      {"1x1, 64 to 256 of 56", 56, 64, 256, 1, 1, 1, false},
      {"1x1, 1024 to 256 of 14", 14, 1024, 256, 1, 1, 1, false},
      {"1x1, 96 to 24 of 56", 56, 96, 24, 1, 1, 1, false},
      {"1x1, 16 to 64 of 112", 112, 16, 64, 1, 1, 1, false},
      {"1x1, 40 to 120 of 28", 28, 40, 120, 1, 1, 1, false},
      {"1x1/2, 256 to 512 of 56", 56, 256, 512, 1, 2, 1, false},
      {"3x3, 256 of 56 in 32 groups", 56, 256, 256, 3, 1, 32, false},
      {"depthwise 3x3, 64 of 112", 112, 64, 64, 3, 1, 64, false},
      {"depthwise 3x3/2, 64 of 112", 112, 64, 64, 3, 2, 64, false},
      {"depthwise 5x5, 120 of 28", 28, 120, 120, 5, 1, 120, false},
      {"depthwise 5x5, 960 of 7", 7, 960, 960, 5, 1, 960, false},
  };
  for (const ImageShape& shape : shapes) bench_convolution(bench, shape);
}

void bench_attention(const Bench& bench) {
  if (!bench.wants("attention")) return;
  const struct {
    const char* name;
    int64_t queries, keys;
    bool causal;
  } shapes[] = {{"12 heads of 64, 128 x 128", 128, 128, false},
                {"12 heads of 64, 197 x 197", 197, 197, false},
                {"12 heads of 64, 1024 x 1024 causal", 1024, 1024, true},
                {"12 heads of 64, 1 x 2048", 1, 2048, false}};
  for (const auto& [name, queries, keys, causal] : shapes) {
    const int64_t width = 12 * 64;
    const Floats query = make_floats(queries * width);
    const Floats key = make_floats(keys * width);
    const Floats value = make_floats(keys * width);
    const Floats out = make_floats(queries * width);
    kernels::Attention shape;
    shape.heads = shape.key_heads = 12;
    shape.queries = queries;
    shape.keys = keys;
    shape.depth = shape.value_depth = 64;
    shape.query = {query.get(), 0, 64, width};
    shape.key = {key.get(), 0, 64, width};
    shape.value = {value.get(), 0, 64, width};
    shape.causal = causal;
    shape.scale = 0.125f;
    shape.out = out.get();
    shape.out_head_stride = 64;
    shape.out_row_stride = width;
    const Floats scratch =
        make_floats(kernels::attention_scratch_size(shape, bench.pool()->threads()));
    const double scores = static_cast<double>(queries * keys) * (causal ? 0.5 : 1);
    bench.report(std::string("attention ") + name, 4.0 * scores * static_cast<double>(width),
                 bytes_of((2 * keys + 2 * queries) * width),
                 [&] { kernels::attend(shape, scratch.get(), bench.pool()); });
  }
}

void bench_rows(const Bench& bench) {
  constexpr int64_t kRows = 512;
  constexpr int64_t kColumns = 768;
  constexpr int64_t kCount = kRows * kColumns;
  const Floats in = make_floats(kCount);
  const Floats weight = make_floats(kColumns);
  const Floats out = make_floats(kCount);
  const kernels::RowShape shape{kRows, kColumns, kColumns, kColumns};
  const double bytes = bytes_of(2 * kCount);
  bench.report("rows softmax 512 x 768", 0, bytes,
               [&] { kernels::softmax_rows(false, shape, in.get(), out.get(), bench.pool()); });
  bench.report("rows layer_norm 512 x 768", 0, bytes, [&] {
    kernels::layer_norm_rows(shape, in.get(), weight.get(), weight.get(), 1e-5, out.get(),
                             bench.pool());
  });
  bench.report("rows rms_norm 512 x 768", 0, bytes, [&] {
    kernels::rms_norm_rows(shape, in.get(), weight.get(), 1e-5, out.get(), bench.pool());
  });
  bench.report("rows sum 512 x 768", 0, bytes_of(kCount), [&] {
    kernels::reduce_rows(kernels::Reduction::sum, {kRows, kColumns, kColumns, 1}, in.get(),
                         out.get(), bench.pool());
  });
  bench.report("rows turn 512 x 768", 0, bytes, [&] {
    kernels::turn({.rows = kRows, .columns = kColumns, .from_stride = kColumns, .to_stride = kRows},
                  in.get(), out.get(), bench.pool());
  });
}

void bench_pointwise(const Bench& bench) {
  constexpr int64_t kCount = 512 * 768;
  const Floats in = make_floats(kCount);
  const Floats out = make_floats(kCount);
  const struct {
    const char* name;
    kernels::Activation activation;
  } activations[] = {
      {"relu", kernels::Activation::relu}, {"sigmoid", kernels::Activation::sigmoid},
      {"tanh", kernels::Activation::tanh}, {"silu", kernels::Activation::silu},
      {"gelu", kernels::Activation::gelu}, {"hardswish", kernels::Activation::hardswish}};
  for (const auto& [name, activation] : activations)
    bench.report(std::string("pointwise ") + name, 0, bytes_of(2 * kCount),
                 [&, which = activation] {
                   kernels::apply(which, in.get(), out.get(), kCount, bench.pool());
                 });
  bench.report("pointwise exp", 0, bytes_of(2 * kCount), [&] {
    kernels::apply(kernels::Unary::exponential, in.get(), out.get(), kCount, bench.pool());
  });
  bench.report("pointwise add", 0, bytes_of(3 * kCount), [&] {
    kernels::combine(kernels::Binary::add, {1, kCount}, {in.get()}, {in.get()}, {out.get()},
                     bench.pool());
  });
}

void bench_pooling(const Bench& bench) {
  kernels::Pooling shape;
  shape.channels = 64;
  shape.in_height = shape.in_width = 112;
  shape.out_height = shape.out_width = 56;
  shape.kernel_height = shape.kernel_width = 3;
  shape.stride_y = shape.stride_x = 2;
  shape.pad_y = shape.pad_x = 1;
  const int64_t in_size = 112 * 112 * 64;
  const Floats in = make_floats(in_size);
  const Floats out = make_floats(in_size);
  const kernels::Images images{in.get(), in_size, 112 * 64, 64, 1};
  bench.report("pooling maximum 3x3/2, 64 of 112", 0, bytes_of(in_size + in_size / 4),
               [&] { kernels::pool_images(shape, images, out.get(), 64, bench.pool()); });
  kernels::Pooling mean;
  mean.kind = kernels::Pooling::Kind::average;
  mean.channels = 2048;
  mean.in_height = mean.in_width = 7;
  mean.adaptive = true;
  const kernels::Images last{in.get(), 49 * 2048, 7 * 2048, 2048, 1};
  bench.report("pooling average of all, 2048 of 7", 0, bytes_of(49 * 2048),
               [&] { kernels::pool_images(mean, last, out.get(), 2048, bench.pool()); });
}

void bench_group_norm(const Bench& bench) {
  const kernels::GroupNorm norm{
      .images = 1, .channels = 64, .groups = 8, .area = 56 * 56, .epsilon = 1e-5};
  const int64_t count = norm.channels * norm.area;
  const Floats in = make_floats(count), out = make_floats(count);
  const Floats scratch = make_floats(kernels::group_norm_scratch(norm));
  bench.report("group_norm channels last, 64 of 56", 0, bytes_of(2 * count), [&] {
    kernels::group_norm_channels_last(norm, in.get(), nullptr, nullptr, scratch.get(), out.get(),
                                      bench.pool());
  });
  bench.report("group_norm planes, 64 of 56", 0, bytes_of(2 * count), [&] {
    kernels::group_norm_planes(norm, in.get(), nullptr, nullptr, out.get(), bench.pool());
  });
}

// An image of 64 channels: a transposed convolution with 4 x 4 kernels that doubles it, the
// gradient of 3 x 3 kernels, and padding with zeros.
void bench_images(const Bench& bench) {
  constexpr int64_t kSize = 32, kChannels = 64;
  const Floats in = make_floats(kSize * kSize * kChannels);
  const kernels::TransposedConvolution shape{.in_channels = kChannels,
                                             .out_channels = kChannels,
                                             .in = {1, kSize, kSize},
                                             .out = {1, 2 * kSize, 2 * kSize},
                                             .kernel = {1, 4, 4},
                                             .stride = {1, 2, 2},
                                             .pad = {0, 1, 1}};
  constexpr int64_t kKernels = kChannels * kChannels * 16, kOut = 4 * kSize * kSize * kChannels;
  const Floats kernels = make_floats(kKernels), out = make_floats(kOut);
  const Floats packed = make_floats(kernels::packed_transposed_size(shape));
  const Floats scratch = make_floats(kernels::transposed_scratch_size(shape));
  kernels::pack_transposed(shape, kernels.get(), packed.get(), bench.pool());
  bench.report("images transposed 4x4/2, 64 of 32", 2.0 * kKernels * kSize * kSize,
               bytes_of(kOut + kKernels), [&] {
                 kernels::convolve_transposed(shape, in.get(), packed.get(), nullptr,
                                              kernels::Activation::none, out.get(), scratch.get(),
                                              bench.pool());
               });
  const kernels::Convolution gradient{.in_height = kSize,
                                      .in_width = kSize,
                                      .in_channels = kChannels,
                                      .out_height = kSize,
                                      .out_width = kSize,
                                      .out_channels = kChannels,
                                      .kernel_height = 3,
                                      .kernel_width = 3,
                                      .pad_top = 1,
                                      .pad_left = 1};
  const Floats room = make_floats(kernels::kernel_gradient_scratch());
  bench.report("images gradient 3x3, 64 of 32", 2.0 * kChannels * kChannels * 9 * kSize * kSize,
               bytes_of(2 * kSize * kSize * kChannels), [&] {
                 kernels::add_kernel_gradient(gradient,
                                              {in.get(), 0, kSize * kChannels, kChannels, 1},
                                              in.get(), kChannels, out.get(), room.get());
               });
  kernels::MappedCopy::Places places(3);
  for (int64_t i = -1; i <= kSize; ++i)
    for (const size_t dim : {0, 1})
      places[dim].push_back(i < 0 || i == kSize ? kernels::kNowhere
                                                : i * (dim == 0 ? kSize : 1) * kChannels);
  for (int64_t c = 0; c < kChannels; ++c) places[2].push_back(c);
  const kernels::MappedCopy padded(std::move(places), sizeof(float));
  bench.report("images padded, 64 of 32", 0, bytes_of(2 * kSize * kSize * kChannels), [&] {
    padded.run(reinterpret_cast<const std::byte*>(in.get()),
               reinterpret_cast<std::byte*>(out.get()), bench.pool());
  });
}

}  // namespace
}  // namespace pt2::bench

int main(int argc, char** argv) {
  std::string_view filter;
  int threads = 1;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--threads" && i + 1 < argc)
      threads = std::max(1, std::atoi(argv[++i]));
    else
      filter = argv[i];
  }
  pt2::kernels::ThreadPool pool(threads);
  const pt2::bench::Bench bench(filter, pool);
  pt2::bench::bench_products(bench);
  pt2::bench::bench_row_products(bench);
  pt2::bench::bench_half_products(bench);
  pt2::bench::bench_quantized_products(bench);
  pt2::bench::bench_convolutions(bench);
  pt2::bench::bench_attention(bench);
  pt2::bench::bench_rows(bench);
  pt2::bench::bench_pointwise(bench);
  pt2::bench::bench_pooling(bench);
  pt2::bench::bench_group_norm(bench);
  pt2::bench::bench_images(bench);
}
#endif
