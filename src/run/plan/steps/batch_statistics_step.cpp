// Batch normalization in training: normalizes by the statistics of the batch and updates the
// running statistics with them.
#include <cmath>

#include "kernels/images/group_norm.h"
#include "run/plan/layout.h"
#include "run/plan/planner.h"

namespace pt2::run {
namespace {

using kernels::RowMoments;

// Each pointer leads to one number for each channel. Pointers to absent or unused statistics are
// null.
struct Statistics {
  int64_t channels = 0;
  int64_t count = 0;  // elements in a channel
  double epsilon = 0;
  double momentum = 0;
  const RowMoments* moments = nullptr;
  float* mean = nullptr;  // of the batch
  float* factor = nullptr;
  const float* old_mean = nullptr;  // running ones; the new ones may replace them in place
  const float* old_variance = nullptr;
  float* new_mean = nullptr;
  float* new_variance = nullptr;
};

void update(const Statistics& all) {
  const auto mixed = [&](float old, double now) {
    return static_cast<float>((1 - all.momentum) * static_cast<double>(old) + all.momentum * now);
  };
  for (int64_t c = 0; c < all.channels; ++c) {
    const RowMoments& batch = all.moments[c];
    const auto count = static_cast<double>(all.count);
    if (all.mean != nullptr) all.mean[c] = static_cast<float>(batch.mean);
    if (all.factor != nullptr)
      all.factor[c] = static_cast<float>(1 / std::sqrt(batch.squares / count + all.epsilon));
    if (all.new_mean != nullptr) all.new_mean[c] = mixed(all.old_mean[c], batch.mean);
    if (all.new_variance != nullptr)
      all.new_variance[c] = mixed(all.old_variance[c], batch.squares / (count - 1));
  }
}

class BatchStatisticsStep final : public Step {
 public:
  // Running statistics are null if there are none. `gives_running`: the new ones are results
  // instead of written in place.
  BatchStatisticsStep(Nodes nodes, const BoundArgument* running_mean,
                      const BoundArgument* running_variance, bool gives_running, double epsilon,
                      double momentum, kernels::Activation activation)
      : Step(std::move(nodes)),
        running_{running_mean, running_variance},
        gives_running_(gives_running),
        epsilon_(epsilon),
        momentum_(momentum),
        activation_(activation) {}

  std::string_view name() const override { return "batch_norm"; }

  Result<bool> run(Frame& frame) const override {
    const BoundArgument& argument = first().arguments[0];
    const Tensor* input = frame.tensor(argument);
    if (!is_float(input) || input->dim() < 2) return false;
    Statistics statistics{.channels = input->size(1),
                          .count = input->numel() / input->size(1),
                          .epsilon = epsilon_,
                          .momentum = momentum_};
    // A single element has no variance, which the reference kernel reports.
    if (statistics.count == 1) return false;
    const std::optional<const float*> weight = numbers(frame, first().arguments[1], *input),
                                      bias = numbers(frame, first().arguments[2], *input);
    if (!weight || !bias || !find_running(frame, *input, statistics)) return false;
    const bool is_matrix = input->dim() == 2;
    const Tensor lying =
        is_matrix ? to_row_major(frame, *input) : channels_last_value(frame, argument);
    Tensor out = is_matrix ? frame.make(lying.sizes()) : make_images(frame, lying.sizes());
    Tensor moments = frame.make({2 * statistics.channels}, {}, Dtype::float64);
    kernels::GroupNorm norm{.channels = statistics.channels,
                            .groups = statistics.channels,
                            .area = statistics.count,
                            .epsilon = epsilon_,
                            .activation = activation_,
                            .moments = reinterpret_cast<RowMoments*>(moments.raw_data())};
    Tensor scratch = frame.make({kernels::group_norm_scratch(norm)});
    statistics.moments = norm.moments;
    make_results(frame, statistics);
    frame.launch([=, weight = *weight, bias = *bias, from = lying.data<float>(),
                  memory = scratch.data<float>(), to = out.data<float>(),
                  threads = frame.threads()] {
      kernels::group_norm_channels_last(norm, from, weight, bias, memory, to, threads);
      update(statistics);
    });
    frame.set(result(), std::move(out), !is_matrix);
    return true;
  }

 private:
  static_assert(sizeof(RowMoments) == 2 * sizeof(double));

  // Returns a number for each channel of the input; null if the argument is None, nullopt if it is
  // anything else.
  static std::optional<const float*> numbers(const Frame& frame, const BoundArgument& argument,
                                             const Tensor& input) {
    if (argument.dynamic == nullptr && argument.constant.is_none())
      return std::optional<const float*>(nullptr);
    const Tensor* tensor = frame.tensor(argument);
    if (!is_float(tensor) || tensor->sizes() != Sizes{input.size(1)} || !tensor->is_contiguous())
      return std::nullopt;
    return tensor->data<float>();
  }

  // False if the running statistics cannot be updated.
  bool find_running(Frame& frame, const Tensor& input, Statistics& statistics) const {
    const float** old[] = {&statistics.old_mean, &statistics.old_variance};
    float** now[] = {&statistics.new_mean, &statistics.new_variance};
    for (size_t i = 0; i < 2; ++i) {
      if (running_[i] == nullptr) continue;
      const auto found = numbers(frame, *running_[i], input);
      if (!found || *found == nullptr) return false;
      *old[i] = *found;
      if (gives_running_) continue;
      Tensor tensor = *frame.tensor(*running_[i]);
      if (tensor.storage()->is_read_only()) return false;
      // A repeated call would find the statistics of the call before in memory other than state.
      if (frame.recording() != nullptr && !frame.recording()->is_state(tensor))
        frame.recording()->give_up();
      *now[i] = tensor.data<float>();
    }
    return true;
  }

  // Makes the results after the first one.
  void make_results(Frame& frame, Statistics& statistics) const {
    float** wanted[] = {&statistics.mean, &statistics.factor, &statistics.new_mean,
                        &statistics.new_variance};
    const std::vector<Argument>& outputs = first().node->outputs;
    for (size_t i = 1; i < outputs.size(); ++i)
      if (const auto* id = outputs[i].get_if<ValueId>()) {
        Tensor tensor = frame.make({statistics.channels});
        *wanted[i - 1] = tensor.data<float>();
        frame.set(*id, std::move(tensor), false);
      }
  }

  const BoundArgument* running_[2];
  bool gives_running_;
  double epsilon_;
  double momentum_;
  kernels::Activation activation_;
};

}  // namespace

StepPointer make_batch_statistics(const Planner& planner, const BoundNode& node) {
  if (planner.argument(node, "training") == nullptr || planner.flag(node, "training") != true)
    return nullptr;
  const auto epsilon = planner.number(node, "eps"), momentum = planner.number(node, "momentum");
  if (!epsilon || !momentum) return nullptr;
  const auto running = [&](std::string_view name) -> const BoundArgument* {
    const BoundArgument* found = Planner::argument(node, name);
    return found == nullptr || planner.is_none(node, name) ? nullptr : found;
  };
  const bool gives_running = is_operator(node, "aten::_native_batch_norm_legit_functional");
  const BoundArgument *mean = running("running_mean"), *variance = running("running_var");
  if (gives_running && (mean == nullptr || variance == nullptr)) return nullptr;
  Step::Nodes nodes{&node};
  auto activation = kernels::Activation::none;
  if (const BoundNode* next = planner.only_user_of_first(node))
    if (const auto found = activation_of(planner, *next)) {
      activation = *found;
      nodes.push_back(next);
    }
  return std::make_unique<BatchStatisticsStep>(std::move(nodes), mean, variance, gives_running,
                                               *epsilon, *momentum, activation);
}

}  // namespace pt2::run
