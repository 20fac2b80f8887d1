#include <algorithm>
#include <cmath>

#include "kernels/pointwise.h"
#include "run/plan/batch_norm.h"
#include "run/plan/layout.h"

namespace pt2::run {
namespace {

// Returns a number for each channel, `otherwise` if the argument is None; nullopt if calls decide
// it.
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

// Returns a number for each channel if the weight broadcasts along the channels of images; nullopt
// for other sizes.
std::optional<std::vector<double>> broadcast_numbers(const Tensor& weight, size_t spatial,
                                                     int64_t channels) {
  Sizes sizes = weight.sizes();
  if (sizes.size() <= spatial || sizes.size() > spatial + 2) return std::nullopt;
  int64_t& size = sizes[sizes.size() - 1 - spatial];
  if (size != channels) return std::nullopt;
  size = 1;
  if (std::ranges::count(sizes, 1) != std::ssize(sizes)) return std::nullopt;
  const Tensor row = weight.contiguous();
  return std::vector<double>(row.data<float>(), row.data<float>() + channels);
}

// Returns what a node does to each channel of the results of `before`; nullopt for others.
std::optional<ScaleShift> channel_change(const Planner& planner, const BoundNode& node,
                                         const BoundNode& before, size_t spatial,
                                         int64_t channels) {
  if (auto norm = scale_and_shift(planner, node)) {
    const bool fits = Planner::takes(*Planner::argument(node, "input"), before) &&
                      std::ssize(norm->scale) == channels;
    return fits ? std::move(norm) : std::nullopt;
  }
  const bool scales = is_operator(node, "aten::mul", "Tensor");
  if (!scales &&
      (!is_operator(node, "aten::add", "Tensor") || planner.number(node, "alpha") != 1.0))
    return std::nullopt;
  const bool is_first = Planner::takes(*Planner::argument(node, "self"), before);
  const Tensor* weight = planner.floats(node, is_first ? "other" : "self");
  if (weight == nullptr) return std::nullopt;
  auto numbers = broadcast_numbers(*weight, spatial, channels);
  if (!numbers) return std::nullopt;
  const auto count = static_cast<size_t>(channels);
  return scales ? ScaleShift{*std::move(numbers), std::vector<double>(count, 0)}
                : ScaleShift{std::vector<double>(count, 1), *std::move(numbers)};
}

}  // namespace

bool take_bias(const Planner& planner, const BoundNode& node, int64_t channels,
               ChannelChanges& changes) {
  if (planner.is_none(node, "bias")) return true;
  const Tensor* bias = planner.floats(node, "bias");
  if (bias == nullptr || bias->dim() != 1 || bias->size(0) != channels) return false;
  const Tensor row = bias->contiguous();
  changes.bias.assign(row.data<float>(), row.data<float>() + channels);
  return true;
}

void fold_changes(const Planner& planner, size_t spatial, int64_t channels, Step::Nodes& nodes,
                  ChannelChanges& changes) {
  while (const BoundNode* next = planner.only_user(*nodes.back())) {
    const auto change = channel_change(planner, *next, *nodes.back(), spatial, channels);
    if (!change) return;
    changes.bias.resize(static_cast<size_t>(channels), 0.0f);
    changes.scale.resize(static_cast<size_t>(channels), 1.0);
    for (size_t i = 0; i < changes.scale.size(); ++i) {
      changes.bias[i] = static_cast<float>(changes.bias[i] * change->scale[i] + change->shift[i]);
      changes.scale[i] *= change->scale[i];
    }
    nodes.push_back(next);
  }
}

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
  if (!planner.widens())
    if (StepPointer step = make_batch_statistics(planner, node)) return step;
  const auto norm = scale_and_shift(planner, node);
  if (!norm) return nullptr;
  Step::Nodes nodes{&node};
  const kernels::Activation activation = take_activation(planner, nodes);
  return std::make_unique<BatchNormStep>(std::move(nodes), *norm, activation);
}

}  // namespace pt2::run
