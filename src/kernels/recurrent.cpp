#include "kernels/recurrent.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/dtypes/halves.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/recurrent.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/dtypes/bfloat16_pairs-inl.h"
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

// Rows of a batch that share each load of weights: as many as registers hold sums for.
#if HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM
constexpr int kMostRows = 3;
#else
constexpr int kMostRows = 1;
#endif
constexpr int64_t kDepthBlock = 256;
constexpr int64_t kParallelWork = int64_t{1} << 16;

// Vectors of units in a panel, with all of their gates: eight sums for each row hide the latency of
// additions.
template <Cell kCell>
constexpr int kPanelVectors = kCell == Cell::lstm || kCell == Cell::gru ? 2 : 4;
template <Cell kCell>
constexpr int kGates = static_cast<int>(gate_count(kCell));

template <Cell kCell>
constexpr int kSums = kGates<kCell>* kPanelVectors<kCell>;

template <Cell kCell>
constexpr int64_t panel_units() {
  return kPanelVectors<kCell> * kLanes;
}

template <Cell kCell>
int64_t packed_size_of(int64_t hidden) {
  const int64_t panels = (hidden + panel_units<kCell>() - 1) / panel_units<kCell>();
  return panels * panel_units<kCell>() * kGates<kCell> * hidden;
}

// Element (gate, unit) of row k of a panel lies at (k * gates + gate) * units + unit. Pairs of
// halves have the same layout, with a pair in place of a float; an odd last row is paired with
// zeros.
template <Cell kCell>
void pack_panels(int64_t hidden, Rounding type, const void* weights, float* packed) {
  constexpr int64_t kUnits = panel_units<kCell>();
  const bool are_pairs = holds_pairs(type);
  const int64_t depth = are_pairs ? (hidden + 1) / 2 : hidden;
  std::vector<float> row(static_cast<size_t>(hidden));
  std::vector<uint16_t> pairs(static_cast<size_t>(2 * depth), 0);
  const auto read = [&](int64_t index) -> const float* {
    const auto* halves = static_cast<const uint16_t*>(weights) + index;
    if (type == Rounding::none) return static_cast<const float*>(weights) + index;
    if (are_pairs) {
      std::copy_n(halves, hidden, pairs.data());
      return nullptr;
    }
    if (type == Rounding::half)
      half_to_float(halves, hidden, row.data());
    else
      bfloat16_to_float(halves, hidden, row.data());
    return row.data();
  };
  for (int64_t first = 0; first < hidden; first += kUnits) {
    float* panel = packed + first * kGates<kCell> * depth;
    for (int64_t gate = 0; gate < kGates<kCell>; ++gate)
      for (int64_t u = 0; u < kUnits; ++u) {
        const bool exists = first + u < hidden;
        const float* from = exists ? read((gate * hidden + first + u) * hidden) : nullptr;
        for (int64_t k = 0; k < depth; ++k) {
          float* to = panel + (k * kGates<kCell> + gate) * kUnits + u;
          if (exists && are_pairs)
            std::memcpy(to, pairs.data() + 2 * k, sizeof *to);
          else
            *to = exists ? from[k] : 0.0f;
        }
      }
  }
}

// The operands of a step for one row of the batch.
struct Row {
  const float* sums;
  const float* state;
  const uint16_t* rounded;  // the state as bfloat16, if panels hold pairs
  float* cell;
  float* out;
};

// Computes the new state of `count` units from `unit` on. `gates` holds the products of the old
// state for each gate.
template <Cell kCell>
HWY_INLINE void finish(const Recurrence& task, const Row& row, int64_t unit, int64_t count,
                       const V (&gates)[kGates<kCell>]) {
  const auto input = [&](int64_t gate) HWY_ATTR {
    return load_first(row.sums + gate * task.hidden + unit, count);
  };
  V state;
  if constexpr (kCell == Cell::lstm) {
    const V in = sigmoid(hn::Add(input(0), gates[0]));
    const V forget = sigmoid(hn::Add(input(1), gates[1]));
    const V candidate = tanh(hn::Add(input(2), gates[2]));
    const V out = sigmoid(hn::Add(input(3), gates[3]));
    const V cell = hn::MulAdd(forget, load_first(row.cell + unit, count), hn::Mul(in, candidate));
    store_first(cell, row.cell + unit, count);
    state = hn::Mul(out, tanh(cell));
  } else if constexpr (kCell == Cell::gru) {
    const V reset = sigmoid(hn::Add(input(0), gates[0]));
    const V update = sigmoid(hn::Add(input(1), gates[1]));
    V old = gates[2];
    if (task.candidate_bias != nullptr)
      old = hn::Add(old, load_first(task.candidate_bias + unit, count));
    const V candidate = tanh(hn::MulAdd(reset, old, input(2)));
    state = hn::MulAdd(update, hn::Sub(load_first(row.state + unit, count), candidate), candidate);
  } else {
    const V sum = hn::Add(input(0), gates[0]);
    state = kCell == Cell::tanh ? tanh(sum) : relu(sum);
  }
  store_first(state, row.out + unit, count);
}

// Products of the state for the gates of one panel's units, for kRows rows.
template <Cell kCell, int kRows>
using Totals = V[kRows][kSums<kCell>];

template <Cell kCell, int kRows>
HWY_INLINE void add_products(int64_t hidden, const Row* rows, const float* HWY_RESTRICT panel,
                             Totals<kCell, kRows>& totals) {
  for (int64_t begin = 0; begin < hidden; begin += kDepthBlock) {
    const int64_t end = std::min(hidden, begin + kDepthBlock);
    Totals<kCell, kRows> sums;
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
      for (int i = 0; i < kSums<kCell>; ++i) sums[r][i] = hn::Zero(Floats());
    for (int64_t k = begin; k < end; ++k, panel += kSums<kCell> * kLanes) {
      V state[kRows];
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) state[r] = set(rows[r].state[k]);
#pragma GCC unroll 16
      for (int i = 0; i < kSums<kCell>; ++i) {
        const V weight = load(panel + i * kLanes);
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) sums[r][i] = hn::MulAdd(state[r], weight, sums[r][i]);
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
      for (int i = 0; i < kSums<kCell>; ++i) totals[r][i] = hn::Add(totals[r][i], sums[r][i]);
  }
}

#if PT2_BEYOND_AVX3
#pragma GCC push_options
#pragma GCC target("avx512bf16")
// As add_products, with pairs of bfloat16.
template <Cell kCell, int kRows>
void add_pairs(int64_t hidden, const Row* rows, const float* HWY_RESTRICT panel,
               Totals<kCell, kRows>& totals) {
  __m512 sums[kRows][kSums<kCell>];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
    for (int i = 0; i < kSums<kCell>; ++i) sums[r][i] = _mm512_setzero_ps();
  const int64_t pairs = (hidden + 1) / 2;
  for (int64_t k = 0; k < pairs; ++k, panel += kSums<kCell> * kLanes) {
    __m512bh state[kRows];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      int32_t pair;
      std::memcpy(&pair, rows[r].rounded + 2 * k, sizeof pair);
      state[r] = __builtin_bit_cast(__m512bh, _mm512_set1_epi32(pair));
    }
#pragma GCC unroll 16
    for (int i = 0; i < kSums<kCell>; ++i) {
      const auto weight = __builtin_bit_cast(__m512bh, _mm512_loadu_ps(panel + i * kLanes));
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) sums[r][i] = _mm512_dpbf16_ps(sums[r][i], weight, state[r]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
    for (int i = 0; i < kSums<kCell>; ++i) totals[r][i] = V{sums[r][i]};
}
#pragma GCC pop_options
#endif

template <Cell kCell, int kRows>
HWY_NOINLINE void finish_panel(const Recurrence& task, const Row* rows, int64_t unit,
                               const Totals<kCell, kRows>& totals) {
  constexpr int kVectors = kPanelVectors<kCell>;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      const int64_t first = unit + v * kLanes;
      if (first >= task.hidden) break;
      V gates[kGates<kCell>];
#pragma GCC unroll 16
      for (int gate = 0; gate < kGates<kCell>; ++gate) gates[gate] = totals[r][gate * kVectors + v];
      finish<kCell>(task, rows[r], first, std::min(kLanes, task.hidden - first), gates);
    }
}

// One time step of kRows rows for the units of one panel.
template <Cell kCell, int kRows>
void step_panel(const Recurrence& task, const Row* rows, int64_t unit) {
  Totals<kCell, kRows> totals;
#if PT2_BEYOND_AVX3
  if (holds_pairs(task.type)) {
    const int64_t pairs = (task.hidden + 1) / 2;
    add_pairs<kCell, kRows>(task.hidden, rows, task.packed + unit * kGates<kCell> * pairs, totals);
    return finish_panel<kCell, kRows>(task, rows, unit, totals);
  }
#endif
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
    for (int i = 0; i < kSums<kCell>; ++i) totals[r][i] = hn::Zero(Floats());
  add_products<kCell, kRows>(task.hidden, rows, task.packed + unit * kGates<kCell> * task.hidden,
                             totals);
  finish_panel<kCell, kRows>(task, rows, unit, totals);
}

template <Cell kCell>
void step_rows(const Recurrence& task, const Row* rows, int64_t count, int64_t unit) {
  switch (count) {
    case 1:
      return step_panel<kCell, 1>(task, rows, unit);
    case 2:
      return step_panel<kCell, std::min(2, kMostRows)>(task, rows, unit);
    default:
      return step_panel<kCell, kMostRows>(task, rows, unit);
  }
}

// Runs all time steps of the batch rows begin .. end - 1.
template <Cell kCell>
void run_rows(const Recurrence& task, int64_t begin, int64_t end) {
  const auto bytes = static_cast<size_t>((end - begin) * task.hidden) * sizeof(float);
  if constexpr (kCell == Cell::lstm)
    std::memcpy(task.last_cell + begin * task.hidden, task.first_cell + begin * task.hidden, bytes);
  const float* state = task.first_state;
  int64_t state_row = task.hidden;
  const bool rounds = holds_pairs(task.type);
  const int64_t rounded_row = rounded_state_size(1, task.hidden);
  for (int64_t i = 0; i < task.steps; ++i) {
    const int64_t time = task.reverse ? task.steps - 1 - i : i;
    float* out = task.out + time * task.out_step;
    for (int64_t row = begin; rounds && row < end; ++row) {
      uint16_t* rounded = task.rounded + row * rounded_row;
      float_to_bfloat16(state + row * state_row, task.hidden, rounded);
      std::fill(rounded + task.hidden, rounded + rounded_row, uint16_t{0});
    }
    for (int64_t unit = 0; unit < task.hidden; unit += panel_units<kCell>())
      for (int64_t first = begin; first < end; first += kMostRows) {
        const int64_t count = std::min<int64_t>(kMostRows, end - first);
        Row rows[kMostRows];
        for (int64_t r = 0; r < count; ++r)
          rows[r] = {
              .sums = task.sums + time * task.sums_step + (first + r) * task.sums_row,
              .state = state + (first + r) * state_row,
              .rounded = rounds ? task.rounded + (first + r) * rounded_row : nullptr,
              .cell = kCell == Cell::lstm ? task.last_cell + (first + r) * task.hidden : nullptr,
              .out = out + (first + r) * task.out_row};
        step_rows<kCell>(task, rows, count, unit);
      }
    state = out;
    state_row = task.out_row;
  }
  for (int64_t row = begin; row < end; ++row)
    std::memcpy(task.last_state + row * task.hidden, state + row * state_row,
                static_cast<size_t>(task.hidden) * sizeof(float));
}

int64_t packed_size_for(Cell cell, int64_t hidden) {
  switch (cell) {
    case Cell::tanh:
      return packed_size_of<Cell::tanh>(hidden);
    case Cell::relu:
      return packed_size_of<Cell::relu>(hidden);
    case Cell::lstm:
      return packed_size_of<Cell::lstm>(hidden);
    case Cell::gru:
      return packed_size_of<Cell::gru>(hidden);
  }
  return 0;
}

void pack_for(Cell cell, int64_t hidden, Rounding type, const void* weights, float* packed) {
  switch (cell) {
    case Cell::tanh:
      return pack_panels<Cell::tanh>(hidden, type, weights, packed);
    case Cell::relu:
      return pack_panels<Cell::relu>(hidden, type, weights, packed);
    case Cell::lstm:
      return pack_panels<Cell::lstm>(hidden, type, weights, packed);
    case Cell::gru:
      return pack_panels<Cell::gru>(hidden, type, weights, packed);
  }
}

void run_part(const Recurrence& task, int64_t begin, int64_t end) {
  switch (task.cell) {
    case Cell::tanh:
      return run_rows<Cell::tanh>(task, begin, end);
    case Cell::relu:
      return run_rows<Cell::relu>(task, begin, end);
    case Cell::lstm:
      return run_rows<Cell::lstm>(task, begin, end);
    case Cell::gru:
      return run_rows<Cell::gru>(task, begin, end);
  }
}

void run_all(std::span<const Recurrence> recurrences, ThreadPool* pool) {
  const Recurrence& first = recurrences.front();
  const auto count = static_cast<int64_t>(recurrences.size());
  // Time steps depend on each other; rows and directions do not.
  const bool parallel = first.steps * first.batch * first.hidden * first.hidden >= kParallelWork;
  const int64_t tiles = (first.batch + kMostRows - 1) / kMostRows;
  const int64_t parts =
      parallel ? std::clamp<int64_t>(2 * thread_count(pool) / count, 1, tiles) : 1;
  run_tasks(parallel ? pool : nullptr, parts * count, [&](int64_t task, int) {
    const int64_t part = task / count;
    run_part(recurrences[static_cast<size_t>(task % count)],
             part_begin(tiles, parts, part) * kMostRows,
             std::min(first.batch, part_begin(tiles, parts, part + 1) * kMostRows));
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(packed_size_for);
PT2_EXPORT(pack_for);
PT2_EXPORT(run_all);

int64_t packed_state_size(Cell cell, int64_t hidden) {
  return PT2_DISPATCH(packed_size_for)(cell, hidden);
}

void pack_state_weights(Cell cell, int64_t hidden, Rounding type, const void* weights,
                        float* packed) {
  PT2_DISPATCH(pack_for)(cell, hidden, type, weights, packed);
}

void run_recurrences(std::span<const Recurrence> recurrences, ThreadPool* pool) {
  if (recurrences.empty() || recurrences.front().batch <= 0) return;
  PT2_DISPATCH(run_all)(recurrences, pool);
}

}  // namespace pt2::kernels
#endif
