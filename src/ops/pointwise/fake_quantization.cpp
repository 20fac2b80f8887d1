// Quantization-aware training: numbers are quantized and dequantized in one step. Scales are
// learned or follow the running extremes of the data.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/text.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/op_def.h"
#include "ops/pointwise/copying.h"
#include "ops/pointwise/pointwise.h"
#include "ops/shape/view.h"

namespace pt2::ops {
namespace {

using TensorPair = std::tuple<Tensor, Tensor>;

struct Range {
  int64_t min;
  int64_t max;
};

Result<double> first_number(const Tensor& tensor, std::string_view what) {
  if (tensor.numel() == 0)
    return operator_error(std::string(what) + ": found no elements, expected a number");
  const Input<double> numbers(tensor);
  return numbers[0];
}

Result<TensorPair> pair_of(Handle handle, std::initializer_list<Operand> arguments) {
  PT2_TRY(std::vector<Value> results, apply_all(handle, arguments));
  return TensorPair(*results[0].get_if<Tensor>(), *results[1].get_if<Tensor>());
}

// --- With the mask of the elements that were not clamped

// std::nearbyint for the default rounding mode, by additions that every vector unit has. Floats
// beyond 2^23 are integers, and additions there round to integers.
float nearest(float x) {
  const float magnitude = std::fabs(x);
  const float rounded = std::copysign((magnitude + 0x1p23f) - 0x1p23f, x);
  return magnitude < 0x1p23f ? rounded : x;
}

Result<void> check_levels(int64_t quant_min, int64_t quant_max) {
  if (quant_min > quant_max)
    return operator_error("quant_min: found " + std::to_string(quant_min) +
                          ", expected at most quant_max, " + std::to_string(quant_max));
  return {};
}
// ATen/native/quantized/cpu/kernels/QuantizedOpKernels.cpp fake_quantize_tensor_cachemask_kernel
void fake_quantize(Tensor& out, Tensor& mask, const Tensor& self, const Tensor& scale,
                   const Tensor& zero_point, int64_t quant_min, int64_t quant_max, bool wraps) {
  // A zero point of a float dtype is added before rounding.
  const bool is_whole = dtype_category(zero_point.dtype()) < DtypeCategory::floating;
  // If `wraps`, PyTorch converts levels to int64: levels out of range become the smallest int64.
  auto level = [=](float x, float s, float z) {
    const float steps = x * (1.0f / s);
    const float rounded = nearest(z + (is_whole ? nearest(steps) : steps));
    return wraps && !(std::fabs(rounded) < 0x1p63f) ? -0x1p63f : rounded;
  };
  const auto low = static_cast<float>(quant_min);
  const auto high = static_cast<float>(quant_max);
  const Dtype common = Dtype::float32;
  elementwise<float>(
      out, common,
      [=](float x, float s, float z) {
        const float q = level(x, s, z), raised = q > low ? q : low;  // NaN becomes low
        return ((raised < high ? raised : high) - z) * s;
      },
      self, scale, zero_point);
  elementwise<float>(
      mask, common,
      [=](float x, float s, float z) {
        const float q = level(x, s, z);
        return q >= low && q <= high ? 1.0f : 0.0f;
      },
      self, scale, zero_point);
}
Result<std::array<Meta, 2>> fake_meta(const Tensor& self) {
  PT2_TRY_VOID(check_floating(self, "self"));
  PT2_TRY(const Meta output, as_self(self));
  Meta mask = output;
  mask.dtype = Dtype::bool_;
  return std::array<Meta, 2>{output, mask};
}
Result<std::array<Meta, 2>> fake_tensor_meta(const Tensor& self, double, int64_t zero_point,
                                             int64_t quant_min, int64_t quant_max) {
  PT2_TRY_VOID(check_levels(quant_min, quant_max));
  if (zero_point < quant_min || zero_point > quant_max)
    return operator_error("zero_point: found " + std::to_string(zero_point) + ", expected " +
                          std::to_string(quant_min) + " to " + std::to_string(quant_max));
  return fake_meta(self);
}
void fake_tensor(Tensor& out, Tensor& mask, const Tensor& self, double scale, int64_t zero_point,
                 int64_t quant_min, int64_t quant_max) {
  fake_quantize(out, mask, self, scalar_tensor(scale, Dtype::float32),
                scalar_tensor(zero_point, Dtype::int64), quant_min, quant_max, false);
}
// Returns one value per position of `axis`, as a view that broadcasts with self.
Result<Tensor> along_axis(const Tensor& values, const Tensor& self, int64_t axis) {
  PT2_TRY_VOID(check_rank(values, 1, "the values per channel"));
  if (axis < 0 || axis >= self.dim() || values.numel() != self.size(axis))
    return operator_error("axis: found " + std::to_string(axis) + " of sizes " +
                          sizes_text(self.sizes()) + ", expected a dim with one of the " +
                          std::to_string(values.numel()) + " channels for each element");
  Sizes sizes(self.sizes().size(), 1);
  sizes[static_cast<size_t>(axis)] = values.numel();
  return view(values, sizes);
}
Result<std::array<Meta, 2>> fake_channel_meta(const Tensor& self, const Tensor& scale,
                                              const Tensor& zero_point, int64_t axis,
                                              int64_t quant_min, int64_t quant_max) {
  PT2_TRY_VOID(check_levels(quant_min, quant_max));
  PT2_TRY_VOID(along_axis(scale, self, axis));
  PT2_TRY(const Tensor zeros, along_axis(zero_point, self, axis));
  if (!zeros.defined() || dtype_category(zeros.dtype()) >= DtypeCategory::floating)
    return fake_meta(self);
  PT2_TRY(const Tensor values, copy_as(zeros, Dtype::float64, MemoryFormat::contiguous));
  for (double value : values.as<double>())
    if (value < static_cast<double>(quant_min) || value > static_cast<double>(quant_max))
      return operator_error("zero_point: found " + print_float(value) + ", expected " +
                            std::to_string(quant_min) + " to " + std::to_string(quant_max));
  return fake_meta(self);
}
Result<void> fake_channel(Tensor& out, Tensor& mask, const Tensor& self, const Tensor& scale,
                          const Tensor& zero_point, int64_t axis, int64_t quant_min,
                          int64_t quant_max) {
  PT2_TRY(const Tensor scales, along_axis(scale, self, axis));
  PT2_TRY(const Tensor zeros, along_axis(zero_point, self, axis));
  fake_quantize(out, mask, self, scales, zeros, quant_min, quant_max, true);
  return {};
}
// Unlike the operator that takes numbers, it does not check that the zero point is in the range.
Result<std::array<Meta, 2>> fake_tensor_qparams_meta(const Tensor& self, const Tensor&,
                                                     const Tensor&, const Tensor&,
                                                     int64_t quant_min, int64_t quant_max) {
  PT2_TRY_VOID(check_levels(quant_min, quant_max));
  return fake_meta(self);
}
Result<void> fake_tensor_qparams(Tensor& out, Tensor& mask, const Tensor& self, const Tensor& scale,
                                 const Tensor& zero_point, const Tensor& enabled, int64_t quant_min,
                                 int64_t quant_max) {
  PT2_TRY(const double on, first_number(enabled, "fake_quant_enabled"));
  if (on == 0) {
    copy_elements(out, self);
    fill_elements(mask, Scalar(true));
    return {};
  }
  PT2_TRY(const double factor, first_number(scale, "scale"));
  PT2_TRY(const double zero, first_number(zero_point, "zero_point"));
  fake_tensor(out, mask, self, factor, Scalar(zero).to_int(), quant_min, quant_max);
  return {};
}
Result<Tensor> fake_tensor_qparams_output(Emitter& e, const Tensor& self, const Tensor& scale,
                                          const Tensor& zero_point, int64_t quant_min,
                                          int64_t quant_max) {
  const auto enabled = e(aten<"ones.default">, {Sizes{1}, Dtype::int64});
  return e(aten<"_fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default">,
           {self, scale, zero_point, enabled, quant_min, quant_max});
}

Result<Tensor> masked_gradient(Emitter& e, const Tensor& grad, const Tensor& mask) {
  PT2_TRY_VOID(check_dtype(mask, Dtype::bool_, "mask"));
  PT2_TRY_VOID(check_sizes(mask, grad.sizes(), "mask"));
  return e(aten<"mul.Tensor">, {grad, mask});
}

// --- Learned scales

Result<Meta> learnable_tensor_meta(const Tensor& self, const Tensor&, const Tensor&,
                                   int64_t quant_min, int64_t quant_max) {
  PT2_TRY_VOID(check_levels(quant_min, quant_max));
  PT2_TRY_VOID(check_floating(self, "self"));
  return meta_like(self, self.dtype(), std::nullopt);
}
Result<Tensor> learnable_tensor(const Tensor& self, const Tensor& scale, const Tensor& zero_point,
                                int64_t quant_min, int64_t quant_max) {
  PT2_TRY_VOID(learnable_tensor_meta(self, scale, zero_point, quant_min, quant_max));
  PT2_TRY(const double factor, first_number(scale, "scale"));
  PT2_TRY(const double zero, first_number(zero_point, "zero_point"));
  const double rounded = std::clamp(std::nearbyint(zero), static_cast<double>(quant_min),
                                    static_cast<double>(quant_max));
  return apply(aten<"fake_quantize_per_tensor_affine.default">,
               {self, factor, Scalar(rounded).to_int(), quant_min, quant_max});
}
Result<Tensor> learnable_channel(Emitter& e, const Tensor& self, const Tensor& scale,
                                 const Tensor& zero_point, int64_t axis, int64_t quant_min,
                                 int64_t quant_max) {
  const auto rounded = e(aten<"round.default">, {zero_point});
  const auto inside = e(aten<"clamp.default">, {rounded, quant_min, quant_max});
  const auto whole = e(aten<"to.dtype">, {inside, Dtype::int32});
  return e(aten<"fake_quantize_per_channel_affine.default">,
           {self, scale, whole, axis, quant_min, quant_max});
}

// Elements outside the range contribute to the gradients of scale and zero point. Elements inside
// contribute their rounding error to the gradient of the scale
// (ATen/native/quantized/cpu/kernels/QuantizedOpKernels.cpp
// _fake_quantize_grad_learnable_tensor_kernel_cpu). `summed` are the dims that share a scale.
using LearntGradients = std::tuple<Tensor, Tensor, Tensor>;
Result<LearntGradients> learnable_backward(Emitter& e, const Tensor& grad, const Tensor& self,
                                           const Tensor& scale, const Tensor& zero_point,
                                           const Sizes& summed, const Range& range,
                                           double grad_factor) {
  PT2_TRY_VOID(check_sizes(grad, self.sizes(), "grad"));
  for (const Tensor* tensor : {&grad, &self, &scale})
    PT2_TRY_VOID(check_dtype(*tensor, Dtype::float32, "grad, self and scale"));
  PT2_TRY(const Tensor zero,
          e(aten<"clamp.default">,
            {e(aten<"round.default">, {e(aten<"to.dtype">, {zero_point, Dtype::float32})}),
             range.min, range.max}));
  PT2_TRY(const Tensor steps,
          e(aten<"add.Tensor">,
            {e(aten<"round.default">,
               {e(aten<"mul.Tensor">, {self, e(aten<"reciprocal.default">, {scale})})}),
             zero}));
  PT2_TRY(const Tensor below, e(aten<"lt.Scalar">, {steps, range.min}));
  PT2_TRY(const Tensor above, e(aten<"gt.Scalar">, {steps, range.max}));
  PT2_TRY(const Tensor outside, e(aten<"logical_or.default">, {below, above}));
  PT2_TRY(const Tensor of_self,
          e(aten<"mul.Tensor">, {grad, e(aten<"logical_not.default">, {outside})}));
  const auto end = e(aten<"clamp.default">, {steps, range.min, range.max});
  PT2_TRY(const Tensor distance, e(aten<"sub.Tensor">, {end, zero}));
  const auto rounding =
      e(aten<"div.Tensor">,
        {e(aten<"sub.Tensor">, {e(aten<"mul.Tensor">, {distance, scale}), self}), scale});
  const auto sum = [&](Result<Tensor> slope) {
    slope = e(aten<"mul.Tensor">, {e(aten<"mul.Tensor">, {grad, slope}), grad_factor});
    return e(aten<"reshape.default">,
             {e(aten<"sum.dim_IntList">, {slope, summed}), zero_point.sizes()});
  };
  PT2_TRY(Tensor of_scale, sum(e(aten<"where.self">, {outside, distance, rounding})));
  PT2_TRY(Tensor of_zero, sum(e(aten<"mul.Tensor">, {outside, e(aten<"neg.default">, {scale})})));
  return LearntGradients{of_self, of_scale, of_zero};
}
Result<LearntGradients> learnable_tensor_backward(Emitter& e, const Tensor& grad,
                                                  const Tensor& self, const Tensor& scale,
                                                  const Tensor& zero_point, int64_t quant_min,
                                                  int64_t quant_max, double grad_factor) {
  PT2_TRY_VOID(check_sizes(scale, {1}, "scale"));
  PT2_TRY_VOID(check_sizes(zero_point, {1}, "zero_point"));
  Sizes summed;
  for (int64_t dim = 0; dim < self.dim(); ++dim) summed.push_back(dim);
  return learnable_backward(e, grad, self, scale, zero_point, summed, {quant_min, quant_max},
                            grad_factor);
}
Result<LearntGradients> learnable_channel_backward(Emitter& e, const Tensor& grad,
                                                   const Tensor& self, const Tensor& scale,
                                                   const Tensor& zero_point, int64_t axis,
                                                   int64_t quant_min, int64_t quant_max,
                                                   double grad_factor) {
  PT2_TRY_VOID(check_rank_at_least(self, 1, "self"));
  PT2_TRY(const int64_t at, wrap_dim(axis, self.dim()));
  PT2_TRY_VOID(check_sizes(scale, {self.size(at)}, "scale"));
  PT2_TRY_VOID(check_sizes(zero_point, {self.size(at)}, "zero_point"));
  Sizes along(static_cast<size_t>(self.dim()), 1), summed;
  along[static_cast<size_t>(at)] = self.size(at);
  for (int64_t dim = 0; dim < self.dim(); ++dim)
    if (dim != at) summed.push_back(dim);
  PT2_TRY(const Tensor scales, e(aten<"view.default">, {scale, along}));
  PT2_TRY(const Tensor zeros, e(aten<"view.default">, {zero_point, along}));
  PT2_TRY(auto out, learnable_backward(e, grad, self, scales, zeros, summed, {quant_min, quant_max},
                                       grad_factor));
  for (Tensor* tensor : {&std::get<1>(out), &std::get<2>(out)}) {
    PT2_TRY(*tensor, e(aten<"view.default">, {*tensor, scale.sizes()}));
  }
  return out;
}

// --- Running extremes (ATen/native/quantized/cpu/fused_obs_fake_quant.cpp)

struct Qparams {
  float scale;
  int32_t zero_point;
};

// Returns the smallest scale, and its zero point, that map [low, high] to the range
// (ATen/native/quantized/cpu/QuantUtils.h ChooseQuantizationParams).
Qparams qparams_within(float low, float high, const Range& range, bool symmetric) {
  constexpr float kSmallest = 6.1e-5f;
  // PyTorch's bounds have 32 bits; a file may contain larger ones.
  const auto bounded = [](int64_t number) {
    return static_cast<double>(std::clamp<int64_t>(number, INT32_MIN, INT32_MAX));
  };
  const double qmin = bounded(range.min), qmax = bounded(range.max);
  if (low < 0 && high > 0 && symmetric) {
    const double half = std::trunc((qmax - qmin) / 2);
    const double largest = std::max(std::fabs(low / -(half + 1)), std::fabs(high / half));
    low = static_cast<float>(largest * -(half + 1));
    high = static_cast<float>(largest * half);
  }
  low = std::min(low, 0.0f);
  high = std::max(high, 0.0f);
  auto scale = static_cast<float>((static_cast<double>(high) - low) / (qmax - qmin));
  if (scale == 0.0f || std::isinf(1.0f / scale)) scale = 0.1f;
  if (scale < kSmallest) {
    const float before = scale;
    scale = kSmallest;
    if (low == 0)
      high = kSmallest * static_cast<float>(qmax - qmin);
    else if (high == 0)
      low = -kSmallest * static_cast<float>(qmax - qmin);
    else {
      low *= kSmallest / before;
      high *= kSmallest / before;
    }
  }
  const double below = low / static_cast<double>(scale);
  const double above = high / static_cast<double>(scale);
  const double from_low = qmin - below;
  const double from_high = qmax - above;
  const double low_error = std::fabs(qmin) + std::fabs(below);
  const double high_error = std::fabs(qmax) + std::fabs(above);
  double zero = low_error < high_error ? from_low : from_high;
  if (low < 0 && high > 0 && symmetric) zero = (qmin + qmax) / 2;
  zero = std::isnan(zero) ? qmin : std::clamp(std::nearbyint(zero), qmin, qmax);
  return {scale, static_cast<int32_t>(zero)};
}

struct Observer {
  Tensor running_min;
  Tensor running_max;
  Tensor scale;
  Tensor zero_point;
  int64_t axis;
  bool per_row;
  bool symmetric;
};
struct Following {
  const Tensor &self, &observer_on, &fake_quant_on;
  Observer observer;
  double weight;
  Range range;
};
Following following(const Tensor& self, const Tensor& observer_on, const Tensor& fake_quant_on,
                    const Tensor& running_min, const Tensor& running_max, const Tensor& scale,
                    const Tensor& zero_point, double averaging_const, int64_t quant_min,
                    int64_t quant_max, int64_t ch_axis, bool per_row, bool symmetric) {
  const Observer observer{running_min, running_max, scale, zero_point, ch_axis, per_row, symmetric};
  return {self, observer_on, fake_quant_on, observer, averaging_const, {quant_min, quant_max}};
}

// Returns one pair of extremes per row, or one pair for the whole tensor.
Result<TensorPair> extremes(const Tensor& self, const Observer& observer) {
  if (!observer.per_row) return pair_of(aten<"aminmax.default">, {self});
  PT2_TRY(const int64_t axis, wrap_dim(observer.axis, self.dim()));
  PT2_TRY(const Tensor first, self.dim() == 2 ? Result<Tensor>(self) : transpose(self, 0, axis));
  PT2_TRY(const Tensor rows, apply(aten<"flatten.using_ints">, {first, int64_t{1}, int64_t{-1}}));
  return pair_of(aten<"aminmax.default">, {rows, int64_t{1}});
}

Result<void> check_observer(const Observer& observer, int64_t count) {
  for (const Tensor* tensor : {&observer.running_min, &observer.running_max, &observer.scale}) {
    PT2_TRY_VOID(check_floating(*tensor, "the observer's tensors"));
    if (tensor->numel() < count)
      return operator_error("found " + std::to_string(tensor->numel()) +
                            " running extremes and scales, expected " + std::to_string(count));
  }
  if (observer.zero_point.numel() < count)
    return operator_error("zero_point: found " + observer.zero_point.type_text() + ", expected " +
                          std::to_string(count) + " numbers");
  return {};
}

void move_average(Tensor& running, const Tensor& now, double weight) {
  const Input<float> numbers(now);
  Output<float> average(running);
  for (int64_t i = 0; i < numbers.size(); ++i)
    average[i] = std::isinf(average[i])
                     ? numbers[i]
                     : average[i] + static_cast<float>(weight) * (numbers[i] - average[i]);
}

// Allocates one pair of running extremes per row of the axis if the observer has none yet.
void make_room(Observer& observer, int64_t rows) {
  if (!observer.per_row || observer.running_min.numel() != 0) return;
  const auto filled = [rows](const Tensor& like, double value) {
    Tensor out = Tensor::zeros(like.dtype(), {rows});
    fill_elements(out, Scalar(value));
    return out;
  };
  observer.running_min = filled(observer.running_min, HUGE_VAL);
  observer.running_max = filled(observer.running_max, -HUGE_VAL);
  observer.scale = filled(observer.scale, 1);
  observer.zero_point = filled(observer.zero_point, 0);
}

Result<void> observe(const Tensor& self, Observer& observer, double weight) {
  PT2_TRY(const auto found, extremes(self, observer));
  const auto& [low, high] = found;
  make_room(observer, low.numel());
  PT2_TRY_VOID(check_observer(observer, low.numel()));
  move_average(observer.running_min, low, weight);
  move_average(observer.running_max, high, weight);
  return {};
}

void choose(Observer& observer, const Range& range) {
  const Input<float> low(observer.running_min);
  const Input<float> high(observer.running_max);
  Output<float> scale(observer.scale);
  Output<int64_t> zero(observer.zero_point);
  const int64_t count = observer.per_row ? low.size() : std::min<int64_t>(low.size(), 1);
  for (int64_t i = 0; i < count; ++i) {
    const Qparams chosen = qparams_within(low[i], high[i], range, observer.symmetric);
    scale[i] = chosen.scale;
    zero[i] = chosen.zero_point;
  }
}

// Updates the observer and quantizes.
Result<TensorPair> follow(const Following& call, Observer& observer) {
  const auto& [self, observer_on, fake_quant_on, unused, weight, range] = call;
  PT2_TRY_VOID(check_floating(self, "self"));
  PT2_TRY(const double observes, first_number(observer_on, "observer_on"));
  PT2_TRY(const double quantises, first_number(fake_quant_on, "fake_quant_on"));
  if (range.min >= range.max)
    return operator_error("quant_min: found " + std::to_string(range.min) +
                          ", expected less than quant_max, " + std::to_string(range.max));
  if (observes != 0) PT2_TRY_VOID(observe(self, observer, weight));
  if (quantises != 0) {
    // Every running extreme needs a scale and a zero point; the four tensors may have unrelated
    // sizes.
    const int64_t rows = observer.per_row ? observer.running_min.numel() : 1;
    PT2_TRY_VOID(check_observer(observer, std::max<int64_t>(rows, 1)));
    choose(observer, range);
    if (observer.per_row)
      return pair_of(
          aten<"fake_quantize_per_channel_affine_cachemask.default">,
          {self, observer.scale, observer.zero_point, observer.axis, range.min, range.max});
  }
  return pair_of(aten<"_fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default">,
                 {self, observer.scale, observer.zero_point, fake_quant_on, range.min, range.max});
}

Result<void> check_used(const Observer& observer) {
  if (observer.per_row && observer.running_min.numel() == 0)
    return Error{ErrorCode::unsupported, "an observer that was never used is resized", ""};
  return {};
}
Result<TensorPair> follow_in_place(const Following& call) {
  PT2_TRY_VOID(check_used(call.observer));
  Observer observer = call.observer;
  return follow(call, observer);
}
Result<Tensor> follow_output(Emitter& e, const Following& call) {
  if (call.self.numel() == 0) return call.self;
  const Observer& own = call.observer;
  return e(aten<"_fused_moving_avg_obs_fq_helper.default">,
           {call.self, call.observer_on, call.fake_quant_on, own.running_min, own.running_max,
            own.scale, own.zero_point, call.weight, call.range.min, call.range.max, own.axis,
            own.per_row, own.symmetric});
}

Result<std::array<Meta, 6>> follow_functional_meta(const Following& call) {
  const Observer& own = call.observer;
  PT2_TRY_VOID(check_used(own));
  PT2_TRY(auto parts, fake_meta(call.self));
  return std::array{std::move(parts[0]),         std::move(parts[1]),   Meta::like(own.running_min),
                    Meta::like(own.running_max), Meta::like(own.scale), Meta::like(own.zero_point)};
}
using Followed = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>;
Result<Followed> follow_functional(const Following& call) {
  Observer own = call.observer;
  for (Tensor* tensor : {&own.running_min, &own.running_max, &own.scale, &own.zero_point})
    *tensor = tensor->clone();
  PT2_TRY(auto parts, follow(call, own));
  return Followed{std::get<0>(parts), std::get<1>(parts), own.running_min,
                  own.running_max,    own.scale,          own.zero_point};
}

// clang-format off
constexpr OpDef kFakeQuantizationOps[] = {
    op<"aten::fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> Tensor", delegate<aten<"fake_quantize_per_tensor_affine_cachemask.default">, Tensor, double, int64_t, int64_t, int64_t>>.with({.autocast = AutocastRule::float32}),
    op<"aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max) -> Tensor", delegate<aten<"fake_quantize_per_channel_affine_cachemask.default">, Tensor, Tensor, Tensor, int64_t, int64_t, int64_t>>,
    op<"aten::fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> (Tensor output, Tensor mask)", fake_tensor_meta, fake_tensor>,
    op<"aten::fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max) -> (Tensor output, Tensor mask)", fake_channel_meta, fake_channel>,
    op<"aten::fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, int quant_min, int quant_max) -> Tensor", fake_tensor_qparams_output>,
    op<"aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, Tensor fake_quant_enabled, int quant_min, int quant_max) -> (Tensor output, Tensor mask)", fake_tensor_qparams_meta, fake_tensor_qparams>,
    op<"aten::fake_quantize_per_tensor_affine_cachemask_backward(Tensor grad, Tensor mask) -> Tensor", masked_gradient>.with({.slope = Slope::linear, .linear_in = "grad"}),
    op<"aten::fake_quantize_per_channel_affine_cachemask_backward(Tensor grad, Tensor mask) -> Tensor", masked_gradient>.with({.slope = Slope::linear, .linear_in = "grad"}),
    composed<"aten::_fake_quantize_learnable_per_tensor_affine(Tensor self, Tensor scale, Tensor zero_point, int quant_min, int quant_max, float grad_factor=1.) -> Tensor", learnable_tensor_meta, learnable_tensor>,
    op<"aten::_fake_quantize_learnable_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max, float grad_factor=1.) -> Tensor", learnable_channel>,
    op<"aten::_fake_quantize_learnable_per_tensor_affine_backward(Tensor grad, Tensor self, Tensor scale, Tensor zero_point, int quant_min, int quant_max, float grad_factor=1.) -> (Tensor, Tensor, Tensor)", learnable_tensor_backward>,
    op<"aten::_fake_quantize_learnable_per_channel_affine_backward(Tensor grad, Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max, float grad_factor=1.) -> (Tensor, Tensor, Tensor)", learnable_channel_backward>,
    op<"aten::fused_moving_avg_obs_fake_quant(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor(a!) running_min, Tensor(b!) running_max, Tensor(c!) scale, Tensor(d!) zero_point, float averaging_const, int quant_min, int quant_max, int ch_axis, bool per_row_fake_quant=False, bool symmetric_quant=False) -> Tensor", gathered<following, follow_output>>,
    composed<"aten::_fused_moving_avg_obs_fq_helper(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor(a!) running_min, Tensor(b!) running_max, Tensor(c!) scale, Tensor(d!) zero_point, float averaging_const, int quant_min, int quant_max, int ch_axis, bool per_row_fake_quant=False, bool symmetric_quant=False) -> (Tensor output, Tensor mask)", fake_meta, gathered<following, follow_in_place>>.with({.functional_form = "_fused_moving_avg_obs_fq_helper_functional.default"}),
    composed<"aten::_fused_moving_avg_obs_fq_helper_functional(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor running_min, Tensor running_max, Tensor scale, Tensor zero_point, float averaging_const, int quant_min, int quant_max, int ch_axis, bool per_row_fake_quant=False, bool symmetric_quant=False) -> (Tensor output, Tensor mask, Tensor running_min_out, Tensor running_max_out, Tensor scale_out, Tensor zero_point_out)", gathered<following, follow_functional_meta>, gathered<following, follow_functional>>,
};
// clang-format on

}  // namespace

std::span<const OpDef> fake_quantization_ops() { return kFakeQuantizationOps; }

}  // namespace pt2::ops
