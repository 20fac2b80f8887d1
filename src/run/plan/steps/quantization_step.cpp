// Numbers that are quantized and at once dequantized, as PT2E writes it around every operator.
#include <cstdlib>

#include "kernels/dtypes/levels.h"
#include "run/plan/layout.h"
#include "run/plan/planner.h"
#include "run/plan/pointwise.h"

namespace pt2::run {
namespace {

class QuantizationStep final : public Step {
 public:
  QuantizationStep(Nodes nodes, const kernels::Levels& levels)
      : Step(std::move(nodes)), levels_(levels) {}

  std::string_view name() const override { return "quantization"; }

  Result<bool> run(Frame& frame) const override {
    const Tensor* a = frame.tensor(first().arguments[0]);
    if (!is_float(a) || !fills_block(*a)) return false;
    const auto id = Frame::value_id(first().arguments[0]);
    const bool is_rearranged = id && frame.is_rearranged(*id);
    if (!is_rearranged && !a->is_contiguous()) return false;
    Tensor out = frame.make(a->sizes(), a->strides());
    frame.launch(
        [in = a->data<float>(), to = out.data<float>(), count = a->numel(), levels = levels_,
         threads = frame.threads()] { kernels::round_to_levels(in, count, levels, to, threads); });
    frame.set(result(), std::move(out), is_rearranged);
    return true;
  }

 private:
  kernels::Levels levels_;
};

}  // namespace

StepPointer make_quantization(const Planner& planner, const BoundNode& node) {
  if (!is_operator(node, "quantized_decomposed::quantize_per_tensor")) return nullptr;
  const BoundNode* back = planner.only_user(node);
  if (back == nullptr || !is_operator(*back, "quantized_decomposed::dequantize_per_tensor"))
    return nullptr;
  const auto dtype = planner.dtype(node, "dtype");
  if ((dtype != Dtype::int8 && dtype != Dtype::uint8) || planner.dtype(*back, "dtype") != dtype)
    return nullptr;
  if (!planner.is_none(*back, "out_dtype") && planner.dtype(*back, "out_dtype") != Dtype::float32)
    return nullptr;
  const auto scale = planner.number(node, "scale"), back_scale = planner.number(*back, "scale");
  const auto zero = planner.integer(node, "zero_point"),
             back_zero = planner.integer(*back, "zero_point"),
             low = planner.integer(node, "quant_min"), high = planner.integer(node, "quant_max");
  if (!scale || !back_scale || !zero || !back_zero || !low || !high || *low > *high) return nullptr;
  // Levels beyond the dtype are an error, and sums of larger zeros are not whole: both are left to
  // the kernels of the operators.
  constexpr int64_t kLargest = 1 << 16;
  const auto is_small = [](int64_t number) { return number >= -kLargest && number <= kLargest; };
  const int64_t least = dtype == Dtype::int8 ? -128 : 0;
  if (*low < least || *high > least + 255 || !is_small(*zero) || !is_small(*back_zero))
    return nullptr;
  const kernels::Levels levels{static_cast<float>(1.0 / *scale), static_cast<float>(*zero),
                               static_cast<float>(*low - *zero), static_cast<float>(*high - *zero),
                               static_cast<float>(*back_scale),  static_cast<float>(*back_zero)};
  return std::make_unique<QuantizationStep>(Step::Nodes{&node, back}, levels);
}

}  // namespace pt2::run
