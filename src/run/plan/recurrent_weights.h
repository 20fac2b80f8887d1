// The weights of recurrent networks as kernels read them.
#ifndef PT2_RUN_PLAN_RECURRENT_WEIGHTS_H
#define PT2_RUN_PLAN_RECURRENT_WEIGHTS_H

#include "kernels/recurrent.h"
#include "run/plan/packed_memory.h"
#include "run/plan/planner.h"

namespace pt2::run {

// One direction of one layer; all row-major. Weights may be halves, biases are floats.
struct Direction {
  Direction(const std::shared_ptr<WeightCopies>& copies, kernels::Cell cell, Tensor of_input,
            Tensor of_state);
  Tensor input;   // [gates * hidden, features]
  Tensor hidden;  // [gates * hidden, hidden], of the same dtype
  Tensor bias;    // of both, but for the state's at GRU's last gate; undefined if there are none
  Tensor candidate_bias;  // that one
  PackedMemory packed_input;
  PackedMemory packed_hidden;
};

// The `params` of a direction with so many hidden units that takes `features` numbers: weights of
// input and state and, where there are four, their biases. Null where they are not known, or have
// other sizes.
std::unique_ptr<Direction> read_direction(const Planner& planner, kernels::Cell cell,
                                          std::span<const ValueId> params, int64_t hidden,
                                          std::optional<int64_t> features);

// False where there is no memory for the packed weights.
bool pack(Frame& frame, kernels::Cell cell, const Direction& direction);

// The gates' sums of `rows` rows of input, of the weights' dtype, which are computed into `sums`.
void launch_input(Frame& frame, const Direction& direction, const Tensor& input, int64_t rows,
                  float* sums);

// Gives a recurrence the weights; `room` is that of kernels::rounded_state_size, for halves.
void set_weights(const Direction& direction, std::byte* room, kernels::Recurrence& recurrence);

// A state as row-major floats, and floats as a result of a dtype.
Tensor state_as_floats(Frame& frame, const Tensor& state);
Tensor result_as(Frame& frame, Tensor floats, Dtype dtype);

// Of a node of the planner's table that is a recurrent network, or one step of it.
kernels::Cell cell_of(const BoundNode& node);

// The values that the argument lists, or the one that it is; nothing for others.
std::vector<ValueId> items_of(const BoundArgument& argument);

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_RECURRENT_WEIGHTS_H
