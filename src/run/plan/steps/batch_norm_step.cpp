#include <cmath>

#include "kernels/pointwise.h"
#include "run/plan/batch_norm.h"
#include "run/plan/layout.h"

namespace pt2::run {
namespace {

// A number for each channel; `otherwise` for absent ones. Nothing if they are not known.
std::optional<std::vector<double>> channel_numbers(const Planner& planner, const BoundNode& node,
                                                   std::string_view name, size_t count,
                                                   double otherwise) {
  if (planner.is_none(node, name)) return std::vector<double>(count, otherwise);
  const Tensor* found = planner.floats(node, name);
  if (found == nullptr || found->dim() != 1 || found->size(0) != static_cast<int64_t>(count))
    return std::nullopt;
  const std::optional<Tensor> row = planner.row_major(*found);
  if (!row) return std::nullopt;
  return std::vector<double>(row->data<float>(), row->data<float>() + count);
}

class BatchNormStep final : public Step {
 public:
  BatchNormStep(Nodes nodes, const ScaleShift& norm, kernels::Activation activation)
      : Step(std::move(nodes)),
        input_(*Planner::argument(first(), "input")),
        scale_(norm.scale.begin(), norm.scale.end()),
        shift_(norm.shift.begin(), norm.shift.end()),
        activation_(activation) {}

  std::string_view name() const override { return "batch_norm"; }

  Result<bool> run(Frame& frame) const override {
    const Tensor* input = frame.tensor(input_);
    const auto channels = static_cast<int64_t>(scale_.size());
    if (!is_float(input) || input->dim() < 2 || input->size(1) != channels) return false;
    const int64_t pixels = input->numel() / channels;
    if (input->dim() == 2 ? input->is_contiguous() : is_channels_last(*input)) {
      Tensor out = frame.make(input->sizes(), input->strides());
      launch(frame, {pixels, channels}, {input->data<float>(), channels}, {scale_.data(), 0},
             {shift_.data(), 0}, {out.data<float>(), channels});
      frame.set(result(), std::move(out), true);
      return true;
    }
    if (!input->is_contiguous()) return false;
    Tensor out = frame.make(input->sizes());
    const int64_t area = pixels / input->size(0);
    for (int64_t image = 0; image < input->size(0); ++image)
      launch(frame, {channels, area}, {input->data<float>() + image * channels * area, area},
             {scale_.data(), 1, 0}, {shift_.data(), 1, 0},
             {out.data<float>() + image * channels * area, area});
    frame.set(result(), std::move(out), false);
    return true;
  }

 private:
  void launch(Frame& frame, const kernels::Extent& extent, const kernels::Rows& in,
              const kernels::Rows& scale, const kernels::Rows& shift,
              const kernels::RowsOut& out) const {
    frame.launch([=, activation = activation_, threads = frame.threads()] {
      kernels::scale_shift(extent, in, scale, shift, activation, out, threads);
    });
  }

  const BoundArgument& input_;
  std::vector<float> scale_;
  std::vector<float> shift_;
  kernels::Activation activation_;
};

}  // namespace

std::optional<ScaleShift> scale_and_shift(const Planner& planner, const BoundNode& node) {
  const bool may_train = is_operator(node, "aten::batch_norm");
  if (!may_train && !is_operator(node, "aten::_native_batch_norm_legit_no_training"))
    return std::nullopt;
  if (may_train && planner.flag(node, "training") != false) return std::nullopt;
  if (!planner.only_first_result_used(node)) return std::nullopt;
  const Tensor* mean = planner.floats(node, "running_mean");
  const auto epsilon = planner.number(node, "eps");
  if (mean == nullptr || !epsilon) return std::nullopt;
  const auto count = static_cast<size_t>(mean->numel());
  const auto means = channel_numbers(planner, node, "running_mean", count, 0);
  const auto variances = channel_numbers(planner, node, "running_var", count, 1);
  const auto weights = channel_numbers(planner, node, "weight", count, 1);
  const auto biases = channel_numbers(planner, node, "bias", count, 0);
  if (!means || !variances || !weights || !biases) return std::nullopt;
  ScaleShift out{std::vector<double>(count), std::vector<double>(count)};
  for (size_t i = 0; i < count; ++i) {
    out.scale[i] = (*weights)[i] / std::sqrt((*variances)[i] + *epsilon);
    out.shift[i] = (*biases)[i] - (*means)[i] * out.scale[i];
  }
  return out;
}

StepPointer make_batch_norm(const Planner& planner, const BoundNode& node) {
  if (StepPointer step = make_batch_statistics(planner, node)) return step;
  const auto norm = scale_and_shift(planner, node);
  if (!norm) return nullptr;
  Step::Nodes nodes{&node};
  auto activation = kernels::Activation::none;
  if (const auto found = match_activation(planner, node)) {
    activation = found->activation;
    nodes.insert(nodes.end(), found->nodes.begin(), found->nodes.end());
  }
  return std::make_unique<BatchNormStep>(std::move(nodes), *norm, activation);
}

}  // namespace pt2::run
