// The weights of recurrent networks in the form that kernels read.
#ifndef PT2_RUN_PLAN_RECURRENT_WEIGHTS_H
#define PT2_RUN_PLAN_RECURRENT_WEIGHTS_H

#include "kernels/recurrent.h"
#include "run/plan/packed_memory.h"
#include "run/plan/planner.h"

namespace pt2::run {

// The weights of one direction of one layer, all row-major. Weights may be halves; biases are
// floats.
struct Direction {
  Direction(const std::shared_ptr<WeightCopies>& copies, kernels::Cell cell, Tensor of_input,
            Tensor of_state);
  Tensor input;   // [gates * hidden, features]
  Tensor hidden;  // [gates * hidden, hidden], of the same dtype
  Tensor bias;    // both added, without the state's at GRU's last gate; undefined if there are none
  Tensor candidate_bias;  // the state's bias at GRU's last gate
  PackedMemory packed_input;
  PackedMemory packed_hidden;
};

// Reads the `params` of a direction with `hidden` units and `features` inputs: the weights of input
// and state and, if there are four params, their biases. Null if they are unknown or have other
// sizes.
std::unique_ptr<Direction> read_direction(const Planner& planner, kernels::Cell cell,
                                          std::span<const ValueId> params, int64_t hidden,
                                          std::optional<int64_t> features);

// Packs the weights. False if the budget has no room for them.
bool pack(Frame& frame, kernels::Cell cell, const Direction& direction);

// Computes the gates' sums of `rows` input rows, which have the weights' dtype, into `sums`.
void launch_input(Frame& frame, const Direction& direction, const Tensor& input, int64_t rows,
                  float* sums);

// Gives a recurrence the weights. `room` has kernels::rounded_state_size elements, for halves.
void set_weights(const Direction& direction, std::byte* room, kernels::Recurrence& recurrence);

// Return a state as row-major floats, and floats as a result of the dtype.
Tensor state_as_floats(Frame& frame, const Tensor& state);
Tensor result_as(Frame& frame, Tensor floats, Dtype dtype);

// Returns the cell of a node of the planner's table: a recurrent network, or one step of it.
kernels::Cell cell_of(const BoundNode& node);

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_RECURRENT_WEIGHTS_H
