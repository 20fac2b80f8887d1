// One step of a recurrent network: a product of the input, then a product of the state joined with
// the gates.
#include "base/memory_account.h"
#include "run/plan/layout.h"
#include "run/plan/recurrent_weights.h"

namespace pt2::run {
namespace {

using kernels::Cell;

class CellStep final : public Step {
 public:
  CellStep(const BoundNode& node, Cell cell, std::unique_ptr<Direction> weights,
           std::vector<ValueId> states)
      : Step({&node}), cell_(cell), weights_(std::move(weights)), states_(std::move(states)) {}

  std::string_view name() const override { return "recurrent"; }

  Result<bool> run(Frame& frame) const override {
    const Tensor* input = frame.tensor(first().arguments[0]);
    const Dtype dtype = weights_->input.dtype();
    if (!has_elements(input, dtype) || input->dim() != 2 ||
        input->size(1) != weights_->input.size(1))
      return false;
    const int64_t batch = input->size(0), hidden = weights_->hidden.size(1);
    Tensor states[2];
    for (size_t i = 0; i < states_.size(); ++i) {
      const auto* state = frame.values[static_cast<size_t>(states_[i])].get_if<Tensor>();
      if (!has_elements(state, dtype) || state->sizes() != Sizes{batch, hidden}) return false;
      states[i] = state_as_floats(frame, *state);
    }
    if (!pack(frame, cell_, *weights_)) return false;
    const Tensor lying = to_row_major(frame, *input);
    const int64_t gates = weights_->input.size(0);
    Tensor sums = frame.make({batch, gates});
    MemoryAccount::count_products({sums.numel(), input->size(1) + hidden});
    launch_input(frame, *weights_, lying, batch, sums.data<float>());
    // The last state is the output of the only step; the kernel writes both.
    Tensor out = frame.make({batch, hidden}), last = frame.make({batch, hidden});
    const bool is_lstm = cell_ == Cell::lstm;
    Tensor cell = is_lstm ? frame.make({batch, hidden}) : Tensor();
    Tensor room = frame.make({kernels::rounded_state_size(batch, hidden)}, {}, Dtype::bfloat16);
    kernels::Recurrence recurrence{.cell = cell_,
                                   .steps = 1,
                                   .batch = batch,
                                   .hidden = hidden,
                                   .sums = sums.data<float>(),
                                   .sums_row = gates,
                                   .first_state = states[0].data<float>(),
                                   .first_cell = is_lstm ? states[1].data<float>() : nullptr,
                                   .last_state = last.data<float>(),
                                   .last_cell = is_lstm ? cell.data<float>() : nullptr,
                                   .out = out.data<float>(),
                                   .out_row = hidden};
    set_weights(*weights_, room.raw_data(), recurrence);
    frame.launch([recurrence, threads = frame.threads()] {
      kernels::run_recurrences(std::span(&recurrence, 1), threads);
    });
    frame.set(result(), result_as(frame, std::move(out), dtype), false);
    const std::vector<Argument>& outputs = first().node->outputs;
    if (is_lstm && outputs.size() > 1)
      if (const auto* id = outputs[1].get_if<ValueId>())
        frame.set(*id, result_as(frame, std::move(cell), dtype), false);
    return true;
  }

 private:
  Cell cell_;
  std::unique_ptr<Direction> weights_;
  std::vector<ValueId> states_;
};

}  // namespace

StepPointer make_cell(const Planner& planner, const BoundNode& node) {
  const Cell cell = cell_of(node);
  std::vector<ValueId> states = items_of(*Planner::argument(node, "hx")), params;
  if (states.size() != (cell == Cell::lstm ? 2 : 1)) return nullptr;
  for (const std::string_view name : {"w_ih", "w_hh", "b_ih", "b_hh"})
    if (const auto id = Frame::value_id(*Planner::argument(node, name))) params.push_back(*id);
  const bool has_biases = !planner.is_none(node, "b_ih");
  if (has_biases == planner.is_none(node, "b_hh") || params.size() != (has_biases ? 4 : 2))
    return nullptr;
  const Tensor* state_weights = planner.elements(params[1]);
  if (state_weights == nullptr || state_weights->dim() != 2) return nullptr;
  auto weights = read_direction(planner, cell, params, state_weights->size(1), std::nullopt);
  if (weights == nullptr) return nullptr;
  return std::make_unique<CellStep>(node, cell, std::move(weights), std::move(states));
}

}  // namespace pt2::run
