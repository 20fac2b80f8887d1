// Steps of float32 for operators on float16 and bfloat16. Operands are widened before the step and
// the result is rounded after it. PyTorch's kernels do so and sum in float32, too.
#include <algorithm>

#include "run/plan/halves.h"
#include "run/plan/planner.h"

namespace pt2::run {
namespace {

class HalfStep final : public Step {
 public:
  // `operands` are the values that the inner step reads from the frame.
  HalfStep(Dtype dtype, StepPointer inner, std::vector<ValueId> operands)
      : Step(inner->nodes()),
        dtype_(dtype),
        inner_(std::move(inner)),
        operands_(std::move(operands)) {}

  std::string_view name() const override { return inner_->name(); }

  Result<bool> run(Frame& frame) const override {
    std::vector<Kept> kept;
    bool are_halves = true;
    for (const ValueId id : operands_) {
      Value& value = frame.values[static_cast<size_t>(id)];
      const auto* tensor = value.get_if<Tensor>();
      if (tensor == nullptr || !tensor->defined() ||
          dtype_category(tensor->dtype()) < DtypeCategory::floating)
        continue;
      auto wide = tensor->dtype() == dtype_ ? widened(frame, *tensor) : std::nullopt;
      are_halves = are_halves && wide;
      if (!are_halves) break;
      kept.push_back({id, value, frame.is_rearranged(id)});
      frame.set(id, *std::move(wide), kept.back().rearranged);
    }
    Result<bool> done = are_halves && !kept.empty() ? inner_->run(frame) : Result<bool>(false);
    for (const Kept& each : kept) frame.set(each.id, *each.value.get_if<Tensor>(), each.rearranged);
    if (!done || !*done) return done;
    const bool rearranged = frame.is_rearranged(result());
    Tensor sums = *frame.values[static_cast<size_t>(result())].get_if<Tensor>();
    if (!fills_block(sums)) sums = to_row_major(frame, sums);
    frame.set(result(), narrowed(frame, sums, dtype_), rearranged);
    return true;
  }

 private:
  struct Kept {
    ValueId id;
    Value value;
    bool rearranged;
  };

  Dtype dtype_;
  StepPointer inner_;
  std::vector<ValueId> operands_;
};

// Returns all operands but the weights that the inner step took when it was made.
std::vector<ValueId> operands_of(const Planner& planner, const BoundNode& node) {
  constexpr std::string_view kWeights[] = {"weight", "bias", "running_mean", "running_var"};
  const ops::Signature& signature = node.op.signature();
  std::vector<ValueId> out;
  for (size_t i = 0; i < signature.parameter_count; ++i) {
    const BoundArgument& argument = node.arguments[i];
    const auto id = Frame::value_id(argument);
    const bool is_weight =
        std::ranges::find(kWeights, signature.parameter_array[i].name) != std::end(kWeights);
    if (id && !(is_weight && planner.constant(&argument) != nullptr) &&
        std::ranges::find(out, *id) == out.end())
      out.push_back(*id);
  }
  return out;
}

}  // namespace

StepPointer make_half(const Planner& planner, const BoundNode& node, const StepMaker& make) {
  const auto dtype = planner.recorded_dtype(node);
  if (!dtype || !is_half(*dtype) || may_write_to_arguments(node) ||
      !planner.only_first_result_used(node))
    return nullptr;
  StepPointer inner = make();
  return inner == nullptr || inner->nodes().back() != &node
             ? nullptr
             : std::make_unique<HalfStep>(*dtype, std::move(inner), operands_of(planner, node));
}

const Tensor* WidenedWeights::find(const Tensor& weight) {
  if (!is_half(weight.dtype())) return nullptr;
  const auto [begin, end] = weights_.equal_range(weight.raw_data());
  for (auto each = begin; each != end; ++each) {
    const auto& [known, wide] = each->second;
    if (known.sizes() == weight.sizes() && known.strides() == weight.strides() &&
        known.dtype() == weight.dtype())
      return &wide;
  }
  if (!budget_->take(weight.numel() * static_cast<int64_t>(sizeof(float)))) return nullptr;
  const Tensor lying = weight.contiguous();
  Tensor wide = Tensor::zeros(Dtype::float32, weight.sizes());
  widen_halves(weight.dtype(), lying.raw_data(), lying.numel(), wide.data<float>());
  return &weights_.emplace(weight.raw_data(), std::pair(weight, std::move(wide)))->second.second;
}

}  // namespace pt2::run
