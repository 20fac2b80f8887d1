// Quantization of numbers to levels, dequantization, and both in one step, as PT2E writes them
// around every operator.
#include "run/plan/layout.h"
#include "run/plan/steps/quantized/requantization.h"

namespace pt2::run {
namespace {

// An operand that fills a block of memory, in program order or rearranged. The tensor is null if it
// has gaps.
struct DenseOperand {
  const Tensor* tensor = nullptr;
  bool is_rearranged = false;
};
DenseOperand dense_operand(const Frame& frame, const BoundArgument& argument, Dtype dtype) {
  const Tensor* tensor = frame.tensor(argument);
  if (!has_elements(tensor, dtype) || !fills_block(*tensor)) return {};
  const auto id = Frame::value_id(argument);
  const bool is_rearranged = id && frame.is_rearranged(*id);
  if (!is_rearranged && !tensor->is_contiguous()) return {};
  return {tensor, is_rearranged};
}

class RoundingStep final : public Step {
 public:
  RoundingStep(Nodes nodes, const kernels::Levels& levels)
      : Step(std::move(nodes)), levels_(levels) {}

  std::string_view name() const override { return "quantization"; }

  Result<bool> run(Frame& frame) const override {
    const auto [a, is_rearranged] = dense_operand(frame, first().arguments[0], Dtype::float32);
    if (a == nullptr) return false;
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

class QuantizationStep final : public Step {
 public:
  QuantizationStep(const BoundNode& node, Quantization to) : Step({&node}), to_(std::move(to)) {}

  std::string_view name() const override { return "quantization"; }

  Result<bool> run(Frame& frame) const override {
    const auto [a, is_rearranged] = dense_operand(frame, first().arguments[0], Dtype::float32);
    const auto place = to_.numbers.place(frame);
    if (a == nullptr || !place) return false;
    Tensor out = frame.make(a->sizes(), a->strides(), to_.dtype);
    const bool done =
        frame.launch([this, place = *place, in = a->data<float>(), to = out.raw_data(),
                      count = a->numel(), threads = frame.threads()] {
          const auto levels = to_levels_of(to_, place.read());
          if (!levels) return false;
          kernels::to_levels(in, count, *levels, reinterpret_cast<uint8_t*>(to), threads);
          return true;
        });
    if (done) frame.set(result(), std::move(out), is_rearranged);
    return done;
  }

 private:
  Quantization to_;
};

class DequantizationStep final : public Step {
 public:
  explicit DequantizationStep(Dequantization from) : Step({from.node}), from_(std::move(from)) {}

  std::string_view name() const override { return "dequantization"; }

  Result<bool> run(Frame& frame) const override {
    const auto [a, is_rearranged] = dense_operand(frame, *from_.levels, from_.dtype);
    const auto place = from_.numbers.place(frame);
    if (a == nullptr || !place) return false;
    Tensor out = frame.make(a->sizes(), a->strides());
    frame.launch([place = *place, in = a->raw_data(), to = out.data<float>(), count = a->numel(),
                  is_signed = from_.dtype == Dtype::int8, threads = frame.threads()] {
      kernels::Levels levels{};
      add_way_back(place.read(), levels);
      kernels::from_levels(in, is_signed, count, levels, to, threads);
    });
    frame.set(result(), std::move(out), is_rearranged);
    return true;
  }

 private:
  Dequantization from_;
};

}  // namespace

StepPointer make_quantization(const Planner& planner, const BoundNode& node) {
  if (std::optional<Dequantization> from = find_dequantization(planner, node))
    return std::make_unique<DequantizationStep>(*std::move(from));
  std::optional<Quantization> to = find_quantization(planner, node);
  if (!to || (to->numbers.fixed() && !to_levels_of(*to, *to->numbers.fixed()))) return nullptr;
  const BoundNode* back = planner.only_user(node);
  const auto from = back == nullptr ? std::nullopt : find_dequantization(planner, *back);
  if (from && from->dtype == to->dtype && to->numbers.fixed() && from->numbers.fixed()) {
    kernels::Levels levels = *to_levels_of(*to, *to->numbers.fixed());
    add_way_back(*from->numbers.fixed(), levels);
    return std::make_unique<RoundingStep>(Step::Nodes{&node, back}, levels);
  }
  return std::make_unique<QuantizationStep>(node, *std::move(to));
}

}  // namespace pt2::run
