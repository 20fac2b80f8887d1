// Recurrent networks: one direction of one layer, over all time steps. The products of the input
// with its weights are computed beforehand, by one product for all steps. A step multiplies the
// state with its weights and applies the gates while the sums are in registers. Weights may be
// float32, float16 or bfloat16; everything else is float32.
//
// Gates are in PyTorch's order: i f g o for LSTM, r z n for GRU.
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

// Packs the weights of the state, [gates * hidden, hidden], row-major, floats or halves of `type`,
// in the order in which a step reads them. `packed` has packed_state_size floats.
int64_t packed_state_size(Cell cell, int64_t hidden);
void pack_state_weights(Cell cell, int64_t hidden, Rounding type, const void* weights,
                        float* packed);
// Number of halves of Recurrence::rounded, which a step needs if the weights are halves.
constexpr int64_t rounded_state_size(int64_t batch, int64_t hidden) {
  return batch * (hidden + hidden % 2);
}

struct Recurrence {
  Cell cell = Cell::lstm;
  int64_t steps = 0;
  int64_t batch = 0;
  int64_t hidden = 0;
  bool reverse = false;            // runs from the last time step to the first
  Rounding type = Rounding::none;  // of the weights
  const float* packed = nullptr;
  // Room for rounded_state_size halves if the weights are halves: processors that multiply bfloat16
  // take the state rounded to bfloat16.
  uint16_t* rounded = nullptr;
  // Gate g of unit u at time t in row b, without the products of the state, is sums[t * sums_step +
  // b * sums_row + g * hidden + u]. It includes the biases of input and state, except the state's
  // bias of GRU's last gate.
  const float* sums = nullptr;
  int64_t sums_step = 0;
  int64_t sums_row = 0;
  const float* candidate_bias = nullptr;  // the state's bias of GRU's last gate, or null
  // The states before the first step and after the last step, [batch, hidden]. Only LSTM has cells;
  // they are computed in last_cell.
  const float* first_state = nullptr;
  const float* first_cell = nullptr;
  float* last_state = nullptr;
  float* last_cell = nullptr;
  // The state at time t in row b: out[t * out_step + b * out_row + u].
  float* out = nullptr;
  int64_t out_step = 0;
  int64_t out_row = 0;
};

// Runs several recurrences with equal cells, batches and sizes: the directions of a layer.
void run_recurrences(std::span<const Recurrence> recurrences, ThreadPool* pool = nullptr);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_RECURRENT_H
