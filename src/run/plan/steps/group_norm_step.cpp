// Normalization of images in groups of channels: group_norm, instance_norm.
#include "kernels/images/group_norm.h"
#include "ops/convert.h"
#include "run/plan/layout.h"
#include "run/plan/planner.h"

namespace pt2::run {
namespace {

class GroupNormStep final : public Step {
 public:
  // If `groups` is 0, each channel is a group. Weight and bias are undefined if there are none.
  GroupNormStep(Nodes nodes, int64_t groups, Tensor weight, Tensor bias, double epsilon,
                kernels::Activation activation)
      : Step(std::move(nodes)),
        groups_(groups),
        weight_(std::move(weight)),
        bias_(std::move(bias)),
        epsilon_(epsilon),
        activation_(activation) {}

  std::string_view name() const override { return "group_norm"; }

  Result<bool> run(Frame& frame) const override {
    const Tensor* input = frame.tensor(first().arguments[0]);
    if (!is_float(input) || input->dim() < 2) return false;
    kernels::GroupNorm norm{.images = input->size(0),
                            .channels = input->size(1),
                            .groups = groups_ == 0 ? input->size(1) : groups_,
                            .area = input->numel() / (input->size(0) * input->size(1)),
                            .epsilon = epsilon_,
                            .activation = activation_};
    const bool fits = norm.channels % norm.groups == 0 && has_channels(weight_, norm.channels) &&
                      has_channels(bias_, norm.channels);
    // A single element has no variance, which the reference kernel reports.
    if (!fits || (groups_ == 0 && norm.area == 1)) return false;
    const float* weight = weight_.defined() ? weight_.data<float>() : nullptr;
    const float* bias = bias_.defined() ? bias_.data<float>() : nullptr;
    if (!input->is_contiguous() && is_channels_last(*input)) {
      Tensor out = make_images(frame, input->sizes());
      Tensor scratch = frame.make({kernels::group_norm_scratch(norm)});
      frame.launch([=, from = input->data<float>(), memory = scratch.data<float>(),
                    to = out.data<float>(), threads = frame.threads()] {
        kernels::group_norm_channels_last(norm, from, weight, bias, memory, to, threads);
      });
      frame.set(result(), std::move(out), true);
      return true;
    }
    const Tensor planes = to_row_major(frame, *input);
    Tensor out = frame.make(input->sizes());
    frame.launch(
        [=, from = planes.data<float>(), to = out.data<float>(), threads = frame.threads()] {
          kernels::group_norm_planes(norm, from, weight, bias, to, threads);
        });
    frame.set(result(), std::move(out), false);
    return true;
  }

 private:
  static bool has_channels(const Tensor& parameter, int64_t channels) {
    return !parameter.defined() || parameter.sizes() == Sizes{channels};
  }

  int64_t groups_;
  Tensor weight_;
  Tensor bias_;
  double epsilon_;
  kernels::Activation activation_;
};

// Returns a parameter; undefined if there is none, nullopt if it is not known.
std::optional<Tensor> parameter_of(const Planner& planner, const BoundNode& node,
                                   std::string_view name) {
  if (planner.is_none(node, name)) return Tensor();
  const Tensor* found = planner.floats(node, name);
  return found == nullptr ? std::nullopt : planner.row_major(*found);
}

// True if the node takes the statistics of its input and stores none.
bool is_instance_norm(const Planner& planner, const BoundNode& node) {
  return planner.flag(node, "use_input_stats") == true && planner.is_none(node, "running_mean") &&
         planner.is_none(node, "running_var");
}

// True if PyTorch rounds the statistics of instance_norm to halves: it stores them in the dtype of
// weight and bias, or of the input if there are none (ATen/native/Normalization.cpp).
bool has_half_statistics(const Planner& planner, const BoundNode& node) {
  const auto is_wide = [&](std::string_view name) {
    const Tensor* parameter = planner.elements(node, name);
    return parameter != nullptr && parameter->dtype() == Dtype::float32;
  };
  const auto dtype = planner.recorded_dtype(node);
  return dtype && ops::is_half(*dtype) && !is_wide("weight") && !is_wide("bias");
}

}  // namespace

StepPointer make_group_norm(const Planner& planner, const BoundNode& node) {
  if (!planner.only_first_result_used(node)) return nullptr;
  std::optional<int64_t> groups;
  if (is_operator(node, "aten::group_norm"))
    groups = planner.integer(node, "num_groups");
  else if (is_operator(node, "aten::native_group_norm"))
    groups = planner.integer(node, "group");
  const bool per_channel = is_operator(node, "aten::instance_norm");
  if (per_channel ? !is_instance_norm(planner, node) : !groups || *groups < 1) return nullptr;
  if (per_channel && has_half_statistics(planner, node)) return nullptr;
  auto weight = parameter_of(planner, node, "weight"), bias = parameter_of(planner, node, "bias");
  const auto epsilon = planner.number(node, "eps");
  if (!weight || !bias || !epsilon) return nullptr;
  Step::Nodes nodes{&node};
  const kernels::Activation activation = take_activation(planner, nodes);
  return std::make_unique<GroupNormStep>(std::move(nodes), per_channel ? 0 : *groups,
                                         *std::move(weight), *std::move(bias), *epsilon,
                                         activation);
}

}  // namespace pt2::run
