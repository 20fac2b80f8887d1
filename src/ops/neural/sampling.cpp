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

// --- Rows that fill a new tensor with random numbers

// The parameters of a distribution: the numbers among the arguments of a call, in their order.
using Scalars = std::span<const Scalar>;

// A tensor beside `self`, such as `high`, holds one number. A number that is None is left out.
Result<std::vector<Scalar>> numbers_of(const Signature& signature,
                                       std::span<const Value> arguments) {
  std::vector<Scalar> out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Parameter& parameter = signature.parameter_array[i];
    const BaseType base = parameter.type.base;
    if (const auto* tensor = arguments[i].get_if<Tensor>(); tensor != nullptr && i > 0) {
      if (tensor->numel() != 1)
        return operator_error(std::string(parameter.name) + ": found " + tensor->type_text() +
                              ", expected one number");
      out.emplace_back(Input<int64_t>(*tensor)[0]);
    } else if ((base == BaseType::integer || base == BaseType::number ||
                base == BaseType::scalar) &&
               !parameter.type.list && !arguments[i].is_none()) {
      out.push_back(unbox<Scalar>(arguments[i]));
    }
  }
  return out;
}

using Fill = Result<void> (*)(Context& context, Tensor& out, Scalars numbers);

// Allocates what the rule of the row predicts, and fills it (`compute_boxed`).
Result<std::vector<Value>> compute_drawn(const OpDef& def, Context& context,
                                         std::span<const Value> arguments) {
  PT2_TRY(const std::vector<Meta> metas, def.infer(arguments));
  PT2_TRY(const std::vector<Scalar> numbers, numbers_of(*def.signature, arguments));
  PT2_TRY(std::vector<Tensor> outs, allocate_all(metas, def.facts.work));
  PT2_TRY_VOID(function_at<Fill>(def.function)(context, outs[0], numbers));
  return values_of(std::move(outs));
}
template <SignatureText S, UntypedRule Rule, Fill F>
constexpr OpDef drawn_row() {
  OpDef def{&kSignature<S>, &kAddress<Rule>, &kAddress<F>, &compute_drawn, &infer_untyped};
  def.may_draw = true;
  return def;
}
template <SignatureText S, UntypedRule Rule, Fill F>
inline constexpr OpDef drawn = drawn_row<S, Rule, F>();

// The dtype, sizes and format that the arguments give; without sizes, those of the first tensor.
Result<std::vector<Meta>> created_meta(std::span<const Value> arguments) {
  Meta meta(Dtype::float32, {});
  const auto* like = arguments[0].get_if<Tensor>();
  if (like != nullptr) meta.dtype = like->dtype();
  std::optional<MemoryFormat> format;
  const Value::List* sizes = nullptr;
  for (const Value& argument : arguments) {
    if (const auto* dtype = argument.get_if<Dtype>()) meta.dtype = *dtype;
    if (const auto* given = argument.get_if<MemoryFormat>()) format = *given;
    if (sizes == nullptr) sizes = argument.get_if<Value::List>();
  }
  if (like != nullptr) {
    PT2_TRY(meta, meta_like(*like, meta.dtype, format));
    return meta_list(std::move(meta));
  }
  for (const Value& size : *sizes) {
    if (!size.is<int64_t>() || *size.get_if<int64_t>() < 0)
      return operator_error("size: found " + size.type_text() + ", expected ints from 0 on");
    meta.sizes.push_back(*size.get_if<int64_t>());
  }
  return meta_list(std::move(meta));
}

Result<void> uniform(Context& context, Tensor& out, Scalars range) {
  if (range.empty()) return fill_uniform(context, out, 0, 1);
  return fill_uniform(context, out, range[0].to_double(), range[1].to_double());
}
Result<void> normal(Context& context, Tensor& out, Scalars parameters) {
  if (parameters.empty()) return fill_normal(context, out, 0, 1);
  return fill_normal(context, out, parameters[0].to_double(), parameters[1].to_double());
}
// Draws below the only number, or from the first to below the second.
Result<void> integers(Context& context, Tensor& out, Scalars range) {
  return fill_integers(context, out, range.size() == 1 ? 0 : range[0].to_int(),
                       range.back().to_int());
}

Result<std::vector<Meta>> permutation_meta(std::span<const Value> arguments) {
  const int64_t count = *arguments[0].get_if<int64_t>();
  if (count < 0)
    return operator_error("n: found " + std::to_string(count) + ", expected 0 or more");
  Meta meta(Dtype::int64, {count});
  for (const Value& argument : arguments)
    if (const auto* dtype = argument.get_if<Dtype>()) meta.dtype = *dtype;
  return meta_list(std::move(meta));
}
// Fisher-Yates shuffle from the front (ATen/native/TensorFactories.cpp randperm_cpu).
Result<void> permutation(Context& context, Tensor& out, Scalars) {
  Scratch<int64_t> values(static_cast<size_t>(out.numel()));
  std::iota(values.begin(), values.end(), int64_t{0});
  RandomState& random = context.random();
  for (size_t i = 0; i + 1 < values.size(); ++i)
    std::swap(values[i], values[i + random.next32() % (values.size() - i)]);
  store_elements<int64_t>(values.data(), out.numel(), out.dtype(), 1, out.raw_data());
  return {};
}

// --- Others

Result<Tensor> prims_uniform(Context& context, const Sizes& shape, const Scalar& low,
                             const Scalar& high, Dtype dtype, const Device&, const Sizes& stride,
                             OptionalGenerator) {
  PT2_TRY(Tensor out, apply(aten<"empty_strided.default">, {box(shape), box(stride), dtype}));
  PT2_TRY_VOID(fill_uniform(context, out, low.to_double(), high.to_double()));
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
Result<Meta> normal_std_meta(double, const Tensor& std, OptionalGenerator) {
  return Meta::like(std);
}
Result<Tensor> normal_std(Context& context, double mean, const Tensor& std, OptionalGenerator) {
  return scaled_normal(context, scalar_tensor(Scalar(mean), std.dtype()), std);
}

Result<void> check_probability(double p) {
  if (!(p >= 0 && p <= 1))
    return operator_error("p: found " + print_float(p) + ", expected 0 to 1");
  return {};
}

Result<void> bernoulli_p(Context& context, Tensor& out, Scalars p) {
  PT2_TRY_VOID(check_probability(p[0].to_double()));
  PT2_TRY_VOID(check_not_complex(out, "self"));
  RandomState& random = context.random();
  fill_with<int64_t>(out, [&] { return int64_t{random.bernoulli(p[0].to_double())}; });
  return {};
}

Result<Tensor> bernoulli_in_place(Context& context, Tensor self, double p, OptionalGenerator) {
  PT2_TRY_VOID(check_writable(self, "self"));
  PT2_TRY(Tensor out, allocate(Meta::like(self)));
  PT2_TRY_VOID(bernoulli_p(context, out, std::array{Scalar(p)}));
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
  PT2_TRY(const Meta meta, meta_like(self, self.dtype(), MemoryFormat::preserve));
  PT2_TRY(Tensor out, allocate(meta));
  return bernoulli_into(context, std::move(out), self, p);
}
Result<Tensor> bernoulli(Context& context, const Tensor& self, OptionalGenerator) {
  PT2_TRY(Tensor out, allocate(Meta::like(self)));
  return bernoulli_into(context, std::move(out), self, self);
}

// Distributions computed by transforming a number from [0, 1) or a normal number
// (ATen/core/TransformationHelper.h).
Result<void> exponential(Context& context, Tensor& out, Scalars numbers) {
  PT2_TRY_VOID(check_floating(out, "self"));
  const double rate = numbers[0].to_double();
  if (!(rate > 0))
    return operator_error("lambd: found " + print_float(rate) + ", expected above 0");
  RandomState& random = context.random();
  fill_with<double>(out, [&] { return -std::log1p(-random.uniform()) / rate; });
  return {};
}
Result<void> log_normal(Context& context, Tensor& out, Scalars numbers) {
  PT2_TRY_VOID(check_floating(out, "self"));
  const double mean = numbers[0].to_double(), deviation = numbers[1].to_double();
  if (!(deviation > 0))
    return operator_error("std: found " + std::to_string(deviation) + ", expected above 0");
  RandomState& random = context.random();
  fill_with<double>(out, [&] { return std::exp(random.normal() * deviation + mean); });
  return {};
}
Result<void> cauchy(Context& context, Tensor& out, Scalars numbers) {
  PT2_TRY_VOID(check_floating(out, "self"));
  const double median = numbers[0].to_double(), sigma = numbers[1].to_double();
  if (!(sigma > 0))
    return operator_error("sigma: found " + std::to_string(sigma) + ", expected above 0");
  RandomState& random = context.random();
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  fill_with<double>(out, [&] {
    const double place = std::clamp(random.uniform(), kEpsilon, 1 - kEpsilon);
    return median + sigma * std::tan(std::numbers::pi * (place - 0.5));
  });
  return {};
}
Result<void> geometric(Context& context, Tensor& out, Scalars numbers) {
  const double p = numbers[0].to_double();
  if (!(p > 0 && p < 1))
    return operator_error("p: found " + print_float(p) + ", expected between 0 and 1");
  RandomState& random = context.random();
  fill_with<double>(out, [&] { return std::ceil(std::log(random.uniform()) / std::log1p(-p)); });
  return {};
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
Result<void> multinomial(Context& context, Tensor& out, const Tensor& self, int64_t num_samples,
                         bool replacement, OptionalGenerator) {
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
  return {};
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
Result<void> random_whole(Context& context, Tensor& out, Scalars) {
  PT2_TRY_VOID(check_not_complex(out, "self"));
  RandomState& random = context.random();
  const bool wide = out.dtype() == Dtype::int64 || out.dtype() == Dtype::float64;
  const uint64_t range = static_cast<uint64_t>(largest_exact(out.dtype())) + 1;
  fill_with<int64_t>(out, [&] {
    return static_cast<int64_t>((wide ? random.next64() : random.next32()) % range);
  });
  return {};
}
Result<void> random_from(Context& context, Tensor& out, Scalars range) {
  PT2_TRY_VOID(check_not_complex(out, "self"));
  const int64_t largest = largest_exact(out.dtype());
  const int64_t end =
      range.size() > 1 ? range[1].to_int() : largest + (largest < INT64_MAX ? 1 : 0);
  return fill_integers(context, out, range[0].to_int(), end);
}

// clang-format off
constexpr OpDef kSamplingOps[] = {
    drawn<"aten::rand(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", created_meta, uniform>.with({.draws = Facts::Draws::by_sizes}),
    drawn<"aten::randn(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", created_meta, normal>.with({.draws = Facts::Draws::by_sizes}),
    drawn<"aten::normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", created_meta,
       normal>.with({.draws = Facts::Draws::by_sizes}),
    drawn<"prims::normal(SymInt[] shape, *, Scalar mean, Scalar std, ScalarType dtype, Device device, bool requires_grad, Generator? generator=None) -> Tensor", created_meta, normal>,
    composed<"prims::uniform(SymInt[] shape, *, Scalar low, Scalar high, ScalarType dtype, Device device, SymInt[] stride, Generator? generator=None) -> Tensor", created_meta, prims_uniform>,
    drawn<"aten::randint(SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", created_meta, integers>.with({.draws = Facts::Draws::by_sizes}),
    drawn<"aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       created_meta, integers>.with({.draws = Facts::Draws::by_sizes}),
    drawn<"aten::rand_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", created_meta,
       uniform>.with({.draws = Facts::Draws::by_elements}),
    drawn<"aten::randn_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       created_meta, normal>.with({.draws = Facts::Draws::by_elements}),
    drawn<"aten::randint_like(Tensor self, SymInt high, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", created_meta,
       integers>.with({.draws = Facts::Draws::by_elements}),
    drawn<"aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", created_meta,
       integers>.with({.draws = Facts::Draws::by_elements}),
    drawn<"aten::randperm(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", permutation_meta, permutation>,
    drawn<"aten::rand.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", created_meta, uniform>.with({.draws = Facts::Draws::by_sizes}),
    drawn<"aten::randn.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", created_meta, normal>.with({.draws = Facts::Draws::by_sizes}),
    drawn<"aten::randint.generator(SymInt high, SymInt[] size, *, Generator? generator, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", created_meta, integers>.with({.draws = Facts::Draws::by_sizes}),
    drawn<"aten::randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       created_meta, integers>.with({.draws = Facts::Draws::by_sizes}),
    drawn<"aten::rand_like.generator(Tensor self, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", created_meta,
       uniform>.with({.draws = Facts::Draws::by_elements}),
    drawn<"aten::randn_like.generator(Tensor self, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       created_meta, normal>.with({.draws = Facts::Draws::by_elements}),
    drawn<"aten::randint_like.generator(Tensor self, SymInt high, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", created_meta,
       integers>.with({.draws = Facts::Draws::by_elements}),
    drawn<"aten::randint_like.low_generator_dtype(Tensor self, SymInt low, SymInt high, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", created_meta,
       integers>.with({.draws = Facts::Draws::by_elements}),
    drawn<"aten::randint_like.Tensor_generator(Tensor self, Tensor high, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       created_meta, integers>.with({.draws = Facts::Draws::by_elements}),
    drawn<"aten::randperm.generator(SymInt n, *, Generator? generator, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", permutation_meta, permutation>,
    drawn<"aten::uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor", created_meta, uniform>.with({.draws = Facts::Draws::by_elements}),
    drawn<"aten::normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor", created_meta, normal>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::normal_(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor(a!)", created_meta, normal_in_place>,
    composed<"aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor", scaled_normal_meta, normal_tensors>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor", like_first, normal_mean>,
    composed<"aten::normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor", normal_std_meta, normal_std>,
    composed<"aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor", like_first, bernoulli>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor", created_meta, bernoulli_tensor>.with({.draws = Facts::Draws::by_elements}),
    drawn<"aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor", like_first, bernoulli_p>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)", created_meta, bernoulli_in_place>.with({.functional_form = "bernoulli.p"}),
    drawn<"aten::random(Tensor self, *, Generator? generator=None) -> Tensor", created_meta, random_whole>.with({.draws = Facts::Draws::by_elements}),
    drawn<"aten::random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor", created_meta, random_from>.with({.draws = Facts::Draws::by_elements}),
    drawn<"aten::random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor", created_meta, integers>.with({.draws = Facts::Draws::by_elements}),
    drawn<"aten::randint_like.Tensor(Tensor self, Tensor high, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", created_meta, integers>.with({.draws = Facts::Draws::by_elements}),
    drawn<"aten::log_normal(Tensor self, float mean=1., float std=2., *, Generator? generator=None) -> Tensor", created_meta, log_normal>.with({.draws = Facts::Draws::by_elements}),
    drawn<"aten::cauchy(Tensor self, float median=0., float sigma=1., *, Generator? generator=None) -> Tensor", created_meta, cauchy>.with({.draws = Facts::Draws::by_elements}),
    drawn<"aten::geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor", created_meta, geometric>.with({.draws = Facts::Draws::by_elements}),
    drawn<"aten::exponential(Tensor self, float lambd=1., *, Generator? generator=None) -> Tensor", created_meta, exponential>.with({.draws = Facts::Draws::by_elements}),
    op<"aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor", multinomial_meta, multinomial>,
};
// clang-format on

}  // namespace

std::span<const OpDef> sampling_ops() { return kSamplingOps; }

}  // namespace pt2::ops
