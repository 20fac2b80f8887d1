// Recurrent networks: one direction of one layer, over all of its time steps. What the
// input adds to the gates is computed before, by one product for all steps; a step multiplies the
// state with its weights and applies the gates while the sums are in registers. Weights may be
// float32, float16 or bfloat16; all else is float32.
//
// Gates have the order of PyTorch: i f g o for LSTM, r z n for GRU.
#ifndef PT2_KERNELS_RECURRENT_H
#define PT2_KERNELS_RECURRENT_H

#include <cstdint>
#include <span>

#include "kernels/threads.h"
#include "kernels/tiles.h"

namespace pt2::kernels {

enum class Cell : uint8_t { tanh, relu, lstm, gru };

constexpr int64_t gate_count(Cell cell) {
  return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1;
}

// The weights of the state, [gates * hidden, hidden], row-major, floats or halves of a type, in the
// order in which a step reads them; `packed` has packed_state_size floats.
int64_t packed_state_size(Cell cell, int64_t hidden);
void pack_state_weights(Cell cell, int64_t hidden, Rounding type, const void* weights,
                        float* packed);
// How many halves a step needs room for, whose weights are halves.
constexpr int64_t rounded_state_size(int64_t batch, int64_t hidden) {
  return batch * (hidden + hidden % 2);
}

struct Recurrence {
  Cell cell = Cell::lstm;
  int64_t steps = 0;
  int64_t batch = 0;
  int64_t hidden = 0;
  bool reverse = false;            // from the last time step to the first
  Rounding type = Rounding::none;  // of the weights
  const float* packed = nullptr;
  // Of rounded_state_size, for weights of halves: processors that multiply bfloat16 take the state
  // rounded to that.
  uint16_t* rounded = nullptr;
  // Gate g of unit u at time t in row b: sums[t * sums_step + b * sums_row + g * hidden + u], the
  // biases of input and state among them, but for the state's at GRU's last gate.
  const float* sums = nullptr;
  int64_t sums_step = 0;
  int64_t sums_row = 0;
  const float* candidate_bias = nullptr;  // that one; null if there is none
  // The states before the first step and behind the last one, [batch, hidden]. The cells are LSTM's
  // alone, and computed in last_cell.
  const float* first_state = nullptr;
  const float* first_cell = nullptr;
  float* last_state = nullptr;
  float* last_cell = nullptr;
  // The state at time t in row b: out[t * out_step + b * out_row + u].
  float* out = nullptr;
  int64_t out_step = 0;
  int64_t out_row = 0;
};

// Several with equal cells, batches and sizes: the directions of a layer.
void run_recurrences(std::span<const Recurrence> recurrences, ThreadPool* pool = nullptr);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_RECURRENT_H
