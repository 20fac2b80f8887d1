// Tensors of random numbers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "base/memory_account.h"
#include "base/text.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/op_def.h"
#include "ops/pointwise/copying.h"

namespace pt2::ops {
namespace {

using OptionalGenerator = std::optional<Generator>;

// Stores a result of draw() in every element of `out`, in memory order.
template <class C, class F>
void fill_with(Tensor& out, F&& draw) {
  Scratch<C> values(static_cast<size_t>(out.numel()));
  for (C& value : values) value = draw();
  const Tensor* operand = &out;
  const StridedWalk walk(std::span(&operand, 1));
  const C* next = values.data();
  walk.run([&](const auto& pointers, int64_t count) {
    store_elements<C>(next, count, out.dtype(), walk.inner_stride(0),
                      const_cast<std::byte*>(pointers[0]));
    next += count;
  });
}

// The digits of float32: half floats are drawn as float32 and rounded. PyTorch does so since 2.15
// at the latest.
constexpr int kFloatDigits = 24;

Result<void> expect_floating(Dtype dtype) {
  if (dtype_category(dtype) != DtypeCategory::floating)
    return operator_error("dtype: found " + std::string(dtype_name(dtype)) +
                          ", expected a floating one");
  return {};
}

double draw_uniform(RandomState& random, Dtype dtype) {
  return dtype == Dtype::float64 ? random.uniform()
                                 : static_cast<double>(random.uniform_float(kFloatDigits));
}

Result<void> fill_uniform(Context& context, Tensor& out, double from, double to) {
  if (dtype_category(out.dtype()) == DtypeCategory::complex) {
    PT2_TRY(Tensor parts, apply(aten<"view_as_real.default">, {out}));
    return fill_uniform(context, parts, from, to);
  }
  PT2_TRY_VOID(expect_floating(out.dtype()));
  if (!(from <= to))
    return operator_error("from: found " + std::to_string(from) + ", expected at most to, " +
                          std::to_string(to));
  RandomState& random = context.random();
  if (out.dtype() == Dtype::float64)
    fill_with<double>(out, [&] { return random.uniform() * (to - from) + from; });
  else
    fill_with<float>(out, [&] {
      return random.uniform_float(kFloatDigits) *
                 (static_cast<float>(to) - static_cast<float>(from)) +
             static_cast<float>(from);
    });
  return {};
}

// Transforms sixteen uniform numbers to sixteen normal ones
// (ATen/native/cpu/DistributionTemplates.h normal_fill_16).
void make_normal(double* values) {
  for (int j = 0; j < 8; ++j) {
    const double radius = std::sqrt(-2 * std::log(1 - values[j]));
    const double angle = 2 * std::numbers::pi * values[j + 8];
    values[j] = radius * std::cos(angle);
    values[j + 8] = radius * std::sin(angle);
  }
}

// From sixteen elements on, PyTorch draws uniform numbers for all elements and transforms them
// block by block. If the count is not a multiple of sixteen, the last sixteen elements are drawn
// again. For half floats, numbers of the incomplete block are not drawn the first time.
Result<void> fill_normal(Context& context, Tensor& out, double mean, double deviation) {
  if (dtype_category(out.dtype()) == DtypeCategory::complex) {
    PT2_TRY(Tensor parts, apply(aten<"view_as_real.default">, {out}));
    return fill_normal(context, parts, mean, deviation * std::numbers::sqrt2 / 2);
  }
  PT2_TRY_VOID(expect_floating(out.dtype()));
  if (!(deviation >= 0))
    return operator_error("std: found " + std::to_string(deviation) +
                          ", expected no negative number");
  RandomState& random = context.random();
  const int64_t count = out.numel();
  if (count < 16 || !out.is_contiguous()) {
    fill_with<double>(out, [&] { return random.normal() * deviation + mean; });
    return {};
  }
  Scratch<double> values(static_cast<size_t>(count));
  const int64_t drawn = dtype_size(out.dtype()) == 2 ? count - count % 16 : count;
  for (int64_t i = 0; i < drawn; ++i)
    values[static_cast<size_t>(i)] = draw_uniform(random, out.dtype());
  for (int64_t i = 0; i + 16 <= count; i += 16) make_normal(values.data() + i);
  if (count % 16 != 0) {
    double* last = values.data() + count - 16;
    for (int j = 0; j < 16; ++j) last[j] = draw_uniform(random, out.dtype());
    make_normal(last);
  }
  for (double& value : values) value = value * deviation + mean;
  store_elements<double>(values.data(), count, out.dtype(), 1, out.raw_data());
  return {};
}

Result<void> fill_integers(Context& context, Tensor& out, int64_t low, int64_t high) {
  if (low >= high)
    return operator_error("randint: found low " + std::to_string(low) + " and high " +
                          std::to_string(high) + ", expected low below high");
  if (dtype_category(out.dtype()) == DtypeCategory::complex)
    return operator_error("dtype: found a complex one, expected a real one");
  RandomState& random = context.random();
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  fill_with<int64_t>(
      out, [&] { return static_cast<int64_t>(random.below(range) + static_cast<uint64_t>(low)); });
  return {};
}

Result<Tensor> allocate_for(const Sizes& sizes, Dtype dtype) {
  for (int64_t size : sizes)
    if (size < 0)
      return operator_error("size: found " + sizes_text(sizes) + ", expected no negative number");
  return allocate(Meta(dtype, sizes));
}

Result<Tensor> rand(Context& context, const Sizes& size, OptionalDtype dtype, const OptionalLayout&,
                    const OptionalDevice&, PinMemory) {
  PT2_TRY(Tensor out, allocate_for(size, dtype.value_or(Dtype::float32)));
  PT2_TRY_VOID(fill_uniform(context, out, 0, 1));
  return out;
}

Result<Tensor> randn(Context& context, const Sizes& size, OptionalDtype dtype,
                     const OptionalLayout&, const OptionalDevice&, PinMemory) {
  PT2_TRY(Tensor out, allocate_for(size, dtype.value_or(Dtype::float32)));
  PT2_TRY_VOID(fill_normal(context, out, 0, 1));
  return out;
}

Result<Tensor> normal_sizes(Context& context, double mean, double std, const Sizes& size,
                            OptionalGenerator, OptionalDtype dtype, const OptionalLayout&,
                            const OptionalDevice&, PinMemory) {
  PT2_TRY(Tensor out, allocate_for(size, dtype.value_or(Dtype::float32)));
  PT2_TRY_VOID(fill_normal(context, out, mean, std));
  return out;
}

Result<Tensor> prims_normal(Context& context, const Sizes& shape, const Scalar& mean,
                            const Scalar& std, Dtype dtype, const Device&, bool,
                            OptionalGenerator) {
  PT2_TRY(Tensor out, allocate_for(shape, dtype));
  PT2_TRY_VOID(fill_normal(context, out, mean.to_double(), std.to_double()));
  return out;
}
Result<Tensor> prims_uniform(Context& context, const Sizes& shape, const Scalar& low,
                             const Scalar& high, Dtype dtype, const Device&, const Sizes& stride,
                             OptionalGenerator) {
  PT2_TRY(Tensor out, apply(aten<"empty_strided.default">, {box(shape), box(stride), dtype}));
  PT2_TRY_VOID(fill_uniform(context, out, low.to_double(), high.to_double()));
  return out;
}

Result<Tensor> randint_low(Context& context, int64_t low, int64_t high, const Sizes& size,
                           OptionalDtype dtype, const OptionalLayout&, const OptionalDevice&,
                           PinMemory) {
  PT2_TRY(Tensor out, allocate_for(size, dtype.value_or(Dtype::int64)));
  PT2_TRY_VOID(fill_integers(context, out, low, high));
  return out;
}

Result<Tensor> randint(Context& context, int64_t high, const Sizes& size, OptionalDtype dtype,
                       const OptionalLayout& layout, const OptionalDevice& device,
                       PinMemory pin_memory) {
  return randint_low(context, 0, high, size, dtype, layout, device, pin_memory);
}

Result<Tensor> empty_like(const Tensor& self, OptionalDtype dtype, const OptionalFormat& format) {
  PT2_TRY(const Meta meta, meta_like(self, dtype.value_or(self.dtype()), format));
  return allocate(meta);
}

Result<Tensor> rand_like(Context& context, const Tensor& self, OptionalDtype dtype,
                         const OptionalLayout&, const OptionalDevice&, PinMemory,
                         const OptionalFormat& format) {
  PT2_TRY(Tensor out, empty_like(self, dtype, format));
  PT2_TRY_VOID(fill_uniform(context, out, 0, 1));
  return out;
}

Result<Tensor> randn_like(Context& context, const Tensor& self, OptionalDtype dtype,
                          const OptionalLayout&, const OptionalDevice&, PinMemory,
                          const OptionalFormat& format) {
  PT2_TRY(Tensor out, empty_like(self, dtype, format));
  PT2_TRY_VOID(fill_normal(context, out, 0, 1));
  return out;
}

Result<Tensor> randint_like_low(Context& context, const Tensor& self, int64_t low, int64_t high,
                                OptionalDtype dtype, const OptionalLayout&, const OptionalDevice&,
                                PinMemory, const OptionalFormat& format) {
  PT2_TRY(Tensor out, empty_like(self, dtype, format));
  PT2_TRY_VOID(fill_integers(context, out, low, high));
  return out;
}

Result<Tensor> randint_like(Context& context, const Tensor& self, int64_t high, OptionalDtype dtype,
                            const OptionalLayout& layout, const OptionalDevice& device,
                            PinMemory pin_memory, const OptionalFormat& format) {
  return randint_like_low(context, self, 0, high, dtype, layout, device, pin_memory, format);
}

// Fisher-Yates shuffle from the front (ATen/native/TensorFactories.cpp randperm_cpu).
Result<Tensor> randperm(Context& context, int64_t n, OptionalDtype dtype, const OptionalLayout&,
                        const OptionalDevice&, PinMemory) {
  PT2_TRY(Tensor out, allocate_for({n}, dtype.value_or(Dtype::int64)));
  Scratch<int64_t> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), int64_t{0});
  RandomState& random = context.random();
  for (size_t i = 0; i + 1 < values.size(); ++i)
    std::swap(values[i], values[i + random.next32() % (values.size() - i)]);
  store_elements<int64_t>(values.data(), n, out.dtype(), 1, out.raw_data());
  return out;
}

Result<Tensor> uniform(Context& context, const Tensor& self, double from, double to,
                       OptionalGenerator) {
  PT2_TRY(Tensor out, empty_like(self, self.dtype(), MemoryFormat::preserve));
  PT2_TRY_VOID(fill_uniform(context, out, from, to));
  return out;
}

Result<Tensor> normal_functional(Context& context, const Tensor& self, double mean, double std,
                                 OptionalGenerator) {
  PT2_TRY(Tensor out, empty_like(self, self.dtype(), MemoryFormat::preserve));
  PT2_TRY_VOID(fill_normal(context, out, mean, std));
  return out;
}

Result<Tensor> normal_in_place(Context& context, Tensor self, double mean, double std,
                               OptionalGenerator) {
  PT2_TRY_VOID(check_writable(self, "self"));
  PT2_TRY_VOID(fill_normal(context, self, mean, std));
  return self;
}

Result<Meta> scaled_normal_meta(const Tensor& mean, const Tensor& deviation, OptionalGenerator) {
  const std::array both{mean.sizes(), deviation.sizes()};
  PT2_TRY(Sizes sizes, broadcast_sizes(both));
  PT2_TRY_VOID(check_floating_or_complex(mean, "mean"));
  return Meta(mean.dtype(), std::move(sizes));
}
// Normal numbers in the mean's dtype, scaled and then shifted in place
// (ATen/native/DistributionTemplates.h normal_out_impl).
Result<Tensor> scaled_normal(Context& context, const Tensor& mean, const Tensor& deviation) {
  PT2_TRY(const Meta meta, scaled_normal_meta(mean, deviation, std::nullopt));
  PT2_TRY(Tensor out, allocate(meta));
  PT2_TRY_VOID(fill_normal(context, out, 0, 1));
  PT2_TRY(const Tensor scaled, apply(aten<"mul.Tensor">, {out, deviation}));
  copy_elements(out, scaled);
  return apply(aten<"add.Tensor">, {out, mean});
}

Result<Tensor> normal_tensors(Context& context, const Tensor& mean, const Tensor& std,
                              OptionalGenerator) {
  return scaled_normal(context, mean, std);
}
Result<Tensor> normal_mean(Context& context, const Tensor& mean, double std, OptionalGenerator) {
  PT2_TRY(Tensor out, allocate(Meta(mean.dtype(), mean.sizes())));
  PT2_TRY_VOID(fill_normal(context, out, 0, std));
  return apply(aten<"add.Tensor">, {out, mean});
}
Result<Tensor> normal_std(Context& context, double mean, const Tensor& std, OptionalGenerator) {
  return scaled_normal(context, scalar_tensor(Scalar(mean), std.dtype()), std);
}

Result<void> check_probability(double p) {
  if (!(p >= 0 && p <= 1))
    return operator_error("p: found " + print_float(p) + ", expected 0 to 1");
  return {};
}

Result<Tensor> bernoulli_p(Context& context, const Tensor& self, double p, OptionalGenerator) {
  PT2_TRY_VOID(check_probability(p));
  PT2_TRY_VOID(check_not_complex(self, "self"));
  PT2_TRY(Tensor out, allocate(Meta(self.dtype(), self.sizes())));
  RandomState& random = context.random();
  fill_with<int64_t>(out, [&] { return int64_t{random.bernoulli(p)}; });
  return out;
}

Result<Tensor> bernoulli_in_place(Context& context, Tensor self, double p,
                                  OptionalGenerator generator) {
  PT2_TRY_VOID(check_writable(self, "self"));
  PT2_TRY(const Tensor out, bernoulli_p(context, self, p, generator));
  copy_elements(self, out);
  return self;
}

// Draws each element with its own probability `p`.
Result<Tensor> bernoulli_into(Context& context, Tensor out, const Tensor& self, const Tensor& p) {
  PT2_TRY_VOID(check_broadcasts(p.sizes(), self.sizes(), "p"));
  PT2_TRY_VOID(expect_floating(p.dtype()));
  const Input<double> probabilities(broadcast_to(p, self.sizes()));
  for (int64_t i = 0; i < probabilities.size(); ++i)
    PT2_TRY_VOID(check_probability(probabilities[i]));
  RandomState& random = context.random();
  Tensor drawn = Tensor::zeros(Dtype::int64, self.sizes());
  for (int64_t i = 0; i < drawn.numel(); ++i)
    drawn.data<int64_t>()[i] = draw_uniform(random, p.dtype()) < probabilities[i];
  copy_elements(out, drawn);
  return out;
}
Result<Tensor> bernoulli_tensor(Context& context, const Tensor& self, const Tensor& p,
                                OptionalGenerator) {
  PT2_TRY(Tensor out, empty_like(self, self.dtype(), MemoryFormat::preserve));
  return bernoulli_into(context, std::move(out), self, p);
}
Result<Tensor> bernoulli(Context& context, const Tensor& self, OptionalGenerator) {
  PT2_TRY(Tensor out, allocate(Meta(self.dtype(), self.sizes())));
  return bernoulli_into(context, std::move(out), self, self);
}

// Distributions computed by transforming a number from [0, 1) or a normal number
// (ATen/core/TransformationHelper.h).
template <class Draw>
Result<Tensor> drawn_like(const Tensor& self, Draw&& draw) {
  PT2_TRY_VOID(check_floating(self, "self"));
  PT2_TRY(Tensor out, empty_like(self, self.dtype(), MemoryFormat::preserve));
  fill_with<double>(out, draw);
  return out;
}
Result<Tensor> exponential(Context& context, const Tensor& self, double rate, OptionalGenerator) {
  if (!(rate > 0))
    return operator_error("lambd: found " + print_float(rate) + ", expected above 0");
  RandomState& random = context.random();
  return drawn_like(self, [&] { return -std::log1p(-random.uniform()) / rate; });
}
Result<Tensor> log_normal(Context& context, const Tensor& self, double mean, double deviation,
                          OptionalGenerator) {
  if (!(deviation > 0))
    return operator_error("std: found " + std::to_string(deviation) + ", expected above 0");
  RandomState& random = context.random();
  return drawn_like(self, [&] { return std::exp(random.normal() * deviation + mean); });
}
Result<Tensor> cauchy(Context& context, const Tensor& self, double median, double sigma,
                      OptionalGenerator) {
  if (!(sigma > 0))
    return operator_error("sigma: found " + std::to_string(sigma) + ", expected above 0");
  RandomState& random = context.random();
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  return drawn_like(self, [&] {
    const double place = std::clamp(random.uniform(), kEpsilon, 1 - kEpsilon);
    return median + sigma * std::tan(std::numbers::pi * (place - 0.5));
  });
}
Result<Tensor> geometric(Context& context, const Tensor& self, double p, OptionalGenerator) {
  if (!(p > 0 && p < 1))
    return operator_error("p: found " + print_float(p) + ", expected between 0 and 1");
  PT2_TRY(Tensor out, empty_like(self, self.dtype(), MemoryFormat::preserve));
  RandomState& random = context.random();
  fill_with<double>(out, [&] { return std::ceil(std::log(random.uniform()) / std::log1p(-p)); });
  return out;
}

Result<Meta> multinomial_meta(const Tensor& self, int64_t num_samples, bool replacement,
                              OptionalGenerator) {
  PT2_TRY_VOID(check_floating(self, "self"));
  if (self.dim() != 1 && self.dim() != 2)
    return operator_error("self: found " + self.type_text() + ", expected 1 or 2 dims");
  const int64_t categories = self.size(self.dim() - 1);
  if (num_samples < 1 || (!replacement && num_samples > categories))
    return operator_error("num_samples: found " + std::to_string(num_samples) + ", expected 1 to " +
                          std::to_string(categories));
  Meta meta(Dtype::int64, self.sizes());
  meta.sizes.back() = num_samples;
  return meta;
}
// Draws from each row of weights. With replacement, inverts the cumulative sum; without, takes the
// largest weight / exponential number (ATen/native/Distributions.cpp multinomial).
Result<Tensor> multinomial(Context& context, const Tensor& self, int64_t num_samples,
                           bool replacement, OptionalGenerator) {
  PT2_TRY(const Meta meta, multinomial_meta(self, num_samples, replacement, std::nullopt));
  const int64_t categories = self.size(self.dim() - 1);
  const Input<double> weights(self);
  for (int64_t row = 0; row < row_count(self.numel(), categories); ++row) {
    double sum = 0;
    for (int64_t i = row * categories; i < (row + 1) * categories; ++i) {
      if (!(weights[i] >= 0) || std::isinf(weights[i]))
        return operator_error("self: found the weight " + std::to_string(weights[i]) +
                              ", expected finite ones that are not negative");
      sum += weights[i];
    }
    if (!(sum > 0)) return operator_error("self: found a row of zeros, expected a weight above 0");
  }
  PT2_TRY(Tensor out, allocate(meta));
  RandomState& random = context.random();
  for (int64_t row = 0; row < row_count(self.numel(), categories); ++row) {
    const double* weight = weights.data() + row * categories;
    std::vector<double> key(weight, weight + categories);
    int64_t* drawn = out.data<int64_t>() + row * num_samples;
    if (replacement && num_samples > 1) {
      std::partial_sum(key.begin(), key.end(), key.begin());
      for (int64_t i = 0; i < num_samples; ++i) {
        const double at = random.uniform() * key.back();
        drawn[i] =
            std::min<int64_t>(std::ranges::upper_bound(key, at) - key.begin(), categories - 1);
      }
      continue;
    }
    for (double& value : key) value /= -std::log1p(-random.uniform());
    std::vector<int64_t> order(key.size());
    std::iota(order.begin(), order.end(), int64_t{0});
    std::partial_sort(order.begin(), order.begin() + num_samples, order.end(),
                      [&](int64_t a, int64_t b) {
                        return key[static_cast<size_t>(a)] > key[static_cast<size_t>(b)];
                      });
    std::copy_n(order.begin(), num_samples, drawn);
  }
  return out;
}

// The upper end of the widest integer range that the dtype represents exactly
// (ATen/native/DistributionTemplates.h).
int64_t largest_exact(Dtype dtype) {
  switch (dtype) {
    case Dtype::float16:
      return int64_t{1} << 11;
    case Dtype::bfloat16:
      return int64_t{1} << 8;
    case Dtype::float32:
      return int64_t{1} << 24;
    case Dtype::float64:
      return int64_t{1} << 53;
    case Dtype::bool_:
      return 1;
    case Dtype::uint8:
      return 255;
    default:
      return static_cast<int64_t>((uint64_t{1} << (8 * dtype_size(dtype) - 1)) - 1);
  }
}

// Draws uniform non-negative integers that the dtype represents exactly.
Result<Tensor> random_whole(Context& context, const Tensor& self, OptionalGenerator) {
  PT2_TRY_VOID(check_not_complex(self, "self"));
  PT2_TRY(Tensor out, empty_like(self, self.dtype(), MemoryFormat::preserve));
  RandomState& random = context.random();
  const bool wide = self.dtype() == Dtype::int64 || self.dtype() == Dtype::float64;
  const uint64_t range = static_cast<uint64_t>(largest_exact(self.dtype())) + 1;
  fill_with<int64_t>(out, [&] {
    return static_cast<int64_t>((wide ? random.next64() : random.next32()) % range);
  });
  return out;
}
Result<Tensor> random_from(Context& context, const Tensor& self, int64_t from,
                           std::optional<int64_t> to, OptionalGenerator) {
  PT2_TRY_VOID(check_not_complex(self, "self"));
  PT2_TRY(Tensor out, empty_like(self, self.dtype(), MemoryFormat::preserve));
  const int64_t largest = largest_exact(self.dtype());
  const int64_t end = to ? *to : largest + (largest < INT64_MAX ? 1 : 0);
  PT2_TRY_VOID(fill_integers(context, out, from, end));
  return out;
}
Result<Tensor> random_to(Context& context, const Tensor& self, int64_t to,
                         OptionalGenerator generator) {
  return random_from(context, self, 0, to, generator);
}

Result<Tensor> randint_like_tensor(Context& context, const Tensor& self, const Tensor& high,
                                   OptionalDtype dtype, const OptionalLayout& layout,
                                   const OptionalDevice& device, PinMemory pin_memory,
                                   const OptionalFormat& format) {
  if (high.numel() != 1)
    return operator_error("high: found " + high.type_text() + ", expected one number");
  const Input<int64_t> number(high);
  return randint_like(context, self, number[0], dtype, layout, device, pin_memory, format);
}

// Adapts F to the overload that takes a generator before the parameters After.
template <auto F, class Before, class After>
struct TakesGenerator;
template <class... A, Result<Tensor> (*F)(Context&, A...), size_t... Before, size_t... After>
struct TakesGenerator<F, std::index_sequence<Before...>, std::index_sequence<After...>> {
  template <size_t I>
  using Parameter = std::tuple_element_t<I, std::tuple<A...>>;
  static Result<Tensor> call(Context& context, Parameter<Before>... before, OptionalGenerator,
                             Parameter<sizeof...(Before) + After>... after) {
    return F(context, before..., after...);
  }
};
template <class... A>
constexpr size_t parameter_count(Result<Tensor> (*)(Context&, A...)) {
  return sizeof...(A);
}
template <auto F, size_t kAt>
inline constexpr auto with_generator =
    &TakesGenerator<F, std::make_index_sequence<kAt>,
                    std::make_index_sequence<parameter_count(F) - kAt>>::call;

// The numbers take the place of the elements of self.
Result<std::vector<Meta>> drawn_meta(std::span<const Value> arguments) {
  const Tensor& self = *arguments[0].get_if<Tensor>();
  PT2_TRY(Meta meta, meta_like(self, self.dtype(), MemoryFormat::preserve));
  return meta_list(std::move(meta));
}

// Meta with the sizes and the dtype that the arguments give.
Result<std::vector<Meta>> created_meta(std::span<const Value> arguments) {
  Meta meta(Dtype::float32, {});
  for (const Value& argument : arguments) {
    if (const auto* like = argument.get_if<Tensor>()) meta = Meta::like(*like);
    if (const auto* dtype = argument.get_if<Dtype>()) meta.dtype = *dtype;
    const auto* sizes = argument.get_if<Value::List>();
    if (sizes == nullptr) continue;
    for (const Value& size : *sizes) {
      if (!size.is<int64_t>() || *size.get_if<int64_t>() < 0)
        return operator_error("size: found " + size.type_text() + ", expected ints from 0 on");
      meta.sizes.push_back(*size.get_if<int64_t>());
    }
  }
  return meta_list(std::move(meta));
}

// created_meta without argument number I, a tensor or a list that gives no sizes.
template <size_t I>
Result<std::vector<Meta>> created_meta_without(std::span<const Value> arguments) {
  std::vector<Value> others(arguments.begin(), arguments.end());
  others.erase(others.begin() + I);
  return created_meta(others);
}

Result<std::vector<Meta>> randperm_meta(std::span<const Value> arguments) {
  const int64_t count = *arguments[0].get_if<int64_t>();
  if (count < 0)
    return operator_error("n: found " + std::to_string(count) + ", expected 0 or more");
  Meta meta(Dtype::int64, {count});
  for (const Value& argument : arguments)
    if (const auto* dtype = argument.get_if<Dtype>()) meta.dtype = *dtype;
  return meta_list(std::move(meta));
}

// clang-format off
constexpr OpDef kSamplingOps[] = {
    composed<"aten::rand(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", created_meta, rand>.with({.draws = Facts::Draws::by_sizes}),
    composed<"aten::randn(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", created_meta, randn>.with({.draws = Facts::Draws::by_sizes}),
    composed<"aten::normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", created_meta,
       normal_sizes>.with({.draws = Facts::Draws::by_sizes}),
    composed<"prims::normal(SymInt[] shape, *, Scalar mean, Scalar std, ScalarType dtype, Device device, bool requires_grad, Generator? generator=None) -> Tensor", created_meta, prims_normal>,
    composed<"prims::uniform(SymInt[] shape, *, Scalar low, Scalar high, ScalarType dtype, Device device, SymInt[] stride, Generator? generator=None) -> Tensor", created_meta_without<5>, prims_uniform>,
    composed<"aten::randint(SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", created_meta, randint>.with({.draws = Facts::Draws::by_sizes}),
    composed<"aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       created_meta, randint_low>.with({.draws = Facts::Draws::by_sizes}),
    composed<"aten::rand_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", created_meta,
       rand_like>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::randn_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       created_meta, randn_like>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::randint_like(Tensor self, SymInt high, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", created_meta,
       randint_like>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", created_meta,
       randint_like_low>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::randperm(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", randperm_meta, randperm>,
    composed<"aten::rand.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", created_meta, with_generator<rand, 1>>.with({.draws = Facts::Draws::by_sizes}),
    composed<"aten::randn.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", created_meta, with_generator<randn, 1>>.with({.draws = Facts::Draws::by_sizes}),
    composed<"aten::randint.generator(SymInt high, SymInt[] size, *, Generator? generator, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", created_meta, with_generator<randint, 2>>.with({.draws = Facts::Draws::by_sizes}),
    composed<"aten::randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       created_meta, with_generator<randint_low, 3>>.with({.draws = Facts::Draws::by_sizes}),
    composed<"aten::rand_like.generator(Tensor self, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", created_meta,
       with_generator<rand_like, 1>>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::randn_like.generator(Tensor self, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       created_meta, with_generator<randn_like, 1>>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::randint_like.generator(Tensor self, SymInt high, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", created_meta,
       with_generator<randint_like, 2>>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::randint_like.low_generator_dtype(Tensor self, SymInt low, SymInt high, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", created_meta,
       with_generator<randint_like_low, 3>>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::randint_like.Tensor_generator(Tensor self, Tensor high, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       created_meta_without<1>, with_generator<randint_like_tensor, 2>>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::randperm.generator(SymInt n, *, Generator? generator, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", randperm_meta, with_generator<randperm, 1>>,
    composed<"aten::uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor", drawn_meta, uniform>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor", drawn_meta, normal_functional>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::normal_(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor(a!)", drawn_meta, normal_in_place>,
    composed<"aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor", scaled_normal_meta, normal_tensors>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor", created_meta, normal_mean>,
    composed<"aten::normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor", created_meta, normal_std>,
    composed<"aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor", drawn_meta, bernoulli>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor", drawn_meta, bernoulli_tensor>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor", drawn_meta, bernoulli_p>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)", drawn_meta, bernoulli_in_place>.with({.functional_form = "bernoulli.p"}),
    composed<"aten::random(Tensor self, *, Generator? generator=None) -> Tensor", drawn_meta, random_whole>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor", drawn_meta, random_from>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor", drawn_meta, random_to>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::randint_like.Tensor(Tensor self, Tensor high, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", created_meta_without<1>, randint_like_tensor>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::log_normal(Tensor self, float mean=1., float std=2., *, Generator? generator=None) -> Tensor", drawn_meta, log_normal>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::cauchy(Tensor self, float median=0., float sigma=1., *, Generator? generator=None) -> Tensor", drawn_meta, cauchy>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor", drawn_meta, geometric>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::exponential(Tensor self, float lambd=1., *, Generator? generator=None) -> Tensor", drawn_meta, exponential>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor", multinomial_meta, multinomial>,
};
// clang-format on

}  // namespace

std::span<const OpDef> sampling_ops() { return kSamplingOps; }

}  // namespace pt2::ops
