// Normalization of images in groups of channels: group_norm, instance_norm.
#include <algorithm>

#include "kernels/images/group_norm.h"
#include "ops/convert.h"
#include "run/plan/layout.h"
#include "run/plan/planner.h"

namespace pt2::run {
namespace {

class GroupNormStep final : public Step {
 public:
  // If `groups` is 0, each channel is a group. Weight and bias are undefined if there are none.
  GroupNormStep(Nodes nodes, const BoundArgument& input, int64_t groups, Tensor weight, Tensor bias,
                double epsilon, kernels::Activation activation)
      : Step(std::move(nodes)),
        input_(input),
        groups_(groups),
        weight_(std::move(weight)),
        bias_(std::move(bias)),
        epsilon_(epsilon),
        activation_(activation) {}

  std::string_view name() const override { return "group_norm"; }

  Result<bool> run(Frame& frame) const override {
    const Tensor* input = frame.tensor(input_);
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

  const BoundArgument& input_;
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

// Returns the `channels` numbers that a parameter repeats; undefined if there is no parameter,
// nullopt if they are not known. Adds the node that repeats them.
std::optional<Tensor> repeated_parameter(const Planner& planner, const BoundNode& node,
                                         std::string_view name, int64_t channels,
                                         Step::Nodes& nodes) {
  if (planner.is_none(node, name)) return Tensor();
  const auto has_channels = [&](const Tensor* numbers) {
    return numbers != nullptr && numbers->dim() == 1 && numbers->size(0) == channels;
  };
  const BoundNode* repeat = planner.only_maker(*Planner::argument(node, name));
  if (repeat != nullptr && is_operator(*repeat, "aten::repeat")) {
    const Tensor* once = planner.floats(*repeat, "self");
    if (!has_channels(once)) return std::nullopt;
    nodes.push_back(repeat);
    return planner.row_major(*once);
  }
  const Tensor* found = planner.floats(node, name);
  const auto all = found == nullptr ? std::nullopt : planner.row_major(*found);
  if (!all || all->dim() != 1 || channels == 0 || all->size(0) % channels != 0) return std::nullopt;
  const float* numbers = all->data<float>();
  if (!std::equal(numbers + channels, numbers + all->size(0), numbers)) return std::nullopt;
  return all->with_view({channels}, {1}, all->storage_offset());
}

}  // namespace

// run_decompositions() makes the images of a batch channels of one image (ATen/native/
// Normalization.cpp instance_norm).
StepPointer recompose_instance_norm(const Planner& planner, const BoundNode& node) {
  if (!is_operator(node, "aten::_native_batch_norm_legit", "no_stats") ||
      planner.flag(node, "training") != true)
    return nullptr;
  const BoundNode *joined = planner.only_maker(node.arguments[0]),
                  *parted = planner.only_user(node);
  if (joined == nullptr || parted == nullptr || !is_reshape(*joined) || !is_reshape(*parted))
    return nullptr;
  const BoundArgument& input = joined->arguments[0];
  const TensorMeta *images = planner.record(input), *one = planner.record(*joined);
  if (images == nullptr || one == nullptr || images->dtype.dtype() != Dtype::float32 ||
      images->sizes.size() < 3 || images->sizes.size() != one->sizes.size() || one->sizes[0] != 1 ||
      images->sizes[1].is_symbolic() ||
      !std::equal(images->sizes.begin() + 2, images->sizes.end(), one->sizes.begin() + 2) ||
      !planner.has_sizes_of(*parted, input))
    return nullptr;
  const int64_t channels = images->sizes[1].literal();
  Step::Nodes nodes{joined, &node, parted};
  auto weight = repeated_parameter(planner, node, "weight", channels, nodes),
       bias = repeated_parameter(planner, node, "bias", channels, nodes);
  const auto epsilon = planner.number(node, "eps");
  if (!weight || !bias || !epsilon) return nullptr;
  std::ranges::sort(nodes);  // bound nodes lie in program order
  const kernels::Activation activation = take_activation(planner, nodes);
  return std::make_unique<GroupNormStep>(std::move(nodes), input, 0, *std::move(weight),
                                         *std::move(bias), *epsilon, activation);
}

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
  return std::make_unique<GroupNormStep>(std::move(nodes), node.arguments[0],
                                         per_channel ? 0 : *groups, *std::move(weight),
                                         *std::move(bias), *epsilon, activation);
}

}  // namespace pt2::run
