#include "kernels/recurrent.h"

#include <algorithm>

#include "kernels/dtypes/halves.h"
#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

using test::Random;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Computes the kernel's results in double.
class Referee {
 public:
  explicit Referee(const Recurrence& task)
      : task_(task),
        state(task.first_state, task.first_state + task.batch * task.hidden),
        cell(static_cast<size_t>(task.batch * task.hidden)) {
    if (task.first_cell != nullptr)
      cell.assign(task.first_cell, task.first_cell + task.batch * task.hidden);
  }

  void step(const std::vector<float>& weights, int64_t time) {
    const int64_t gates = gate_count(task_.cell), hidden = task_.hidden;
    const std::vector<double> old = state;
    for (int64_t b = 0; b < task_.batch; ++b)
      for (int64_t u = 0; u < hidden; ++u) {
        double input[4] = {}, from_state[4] = {};
        for (int64_t g = 0; g < gates; ++g) {
          input[g] = task_.sums[time * task_.sums_step + b * task_.sums_row + g * hidden + u];
          for (int64_t k = 0; k < hidden; ++k)
            from_state[g] += old[static_cast<size_t>(b * hidden + k)] *
                             weights[static_cast<size_t>((g * hidden + u) * hidden + k)];
        }
        apply(input, from_state, static_cast<size_t>(b * hidden + u), u);
      }
  }

 private:
  void apply(const double* input, double* from_state, size_t place, int64_t unit) {
    double& h = state[place];
    switch (task_.cell) {
      case Cell::tanh:
        h = std::tanh(input[0] + from_state[0]);
        break;
      case Cell::relu:
        h = std::max(0.0, input[0] + from_state[0]);
        break;
      case Cell::lstm:
        cell[place] = sigmoid(input[1] + from_state[1]) * cell[place] +
                      sigmoid(input[0] + from_state[0]) * std::tanh(input[2] + from_state[2]);
        h = sigmoid(input[3] + from_state[3]) * std::tanh(cell[place]);
        break;
      case Cell::gru: {
        if (task_.candidate_bias != nullptr) from_state[2] += task_.candidate_bias[unit];
        const double update = sigmoid(input[1] + from_state[1]);
        const double candidate =
            std::tanh(input[2] + sigmoid(input[0] + from_state[0]) * from_state[2]);
        h = candidate + update * (h - candidate);
        break;
      }
    }
  }

  const Recurrence& task_;

 public:
  std::vector<double> state;
  std::vector<double> cell;
};

struct Memory {
  std::vector<float> out, last_state, last_cell;
  void give(Recurrence& task) {
    task.out = out.data();
    task.last_state = last_state.data();
    task.last_cell = last_cell.data();
  }
};

// With bfloat16 weights some processors round the state to bfloat16, so the tolerance is larger.
void compare(const std::vector<double>& expected, const float* found, Rounding type) {
  const double tolerance = type == Rounding::bfloat16 ? 3e-2 : 3e-6;
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_TRUE(test::close_to(found[i], expected[i], tolerance)) << found[i] << " " << expected[i];
}

// Rounds the weights to a 16-bit type, returns these, and widens `weights` back to float32.
std::vector<uint16_t> round_to(Rounding type, std::vector<float>& weights) {
  std::vector<uint16_t> out(weights.size());
  const auto count = static_cast<int64_t>(weights.size());
  if (type == Rounding::half) {
    float_to_half(weights.data(), count, out.data());
    half_to_float(out.data(), count, weights.data());
  } else if (type == Rounding::bfloat16) {
    float_to_bfloat16(weights.data(), count, out.data());
    bfloat16_to_float(out.data(), count, weights.data());
  }
  return out;
}

TEST(RecurrentTest, EqualsAPlainLoopForAnyNumberOfThreads) {
  ThreadPool pool(3);
  test::on_every_target([&] {
    Random random(3);
    for (int i = 0; i < 96; ++i) {
      const auto type = static_cast<Rounding>(i / 4 % 3);
      Recurrence task{.cell = static_cast<Cell>(i % 4),
                      .steps = random.whole(1, 5),
                      .batch = random.whole(1, i % 5 == 0 ? 9 : 3),
                      .hidden = random.whole(1, i % 11 == 0 ? 300 : 70),
                      .reverse = random.whole(0, 1) == 1,
                      .type = type};
      const int64_t gates = gate_count(task.cell) * task.hidden;
      const bool batch_first = random.whole(0, 1) == 1;
      const int64_t out_width = task.hidden + random.whole(0, 4);
      task.sums_step = batch_first ? gates : task.batch * gates;
      task.sums_row = batch_first ? task.steps * gates : gates;
      task.out_step = batch_first ? out_width : task.batch * out_width;
      task.out_row = batch_first ? task.steps * out_width : out_width;
      const float scale = 1.5f / std::sqrt(static_cast<float>(task.hidden));
      std::vector<float> weights = random.numbers(gates * task.hidden, -scale, scale);
      const std::vector<uint16_t> halves = round_to(type, weights);
      const std::vector<float> sums = random.numbers(task.steps * task.batch * gates, -2, 2);
      const std::vector<float> bias = random.numbers(task.hidden);
      const std::vector<float> state = random.numbers(task.batch * task.hidden);
      const std::vector<float> cell = random.numbers(task.batch * task.hidden);
      std::vector<float> packed(static_cast<size_t>(packed_state_size(task.cell, task.hidden)));
      pack_state_weights(
          task.cell, task.hidden, type,
          type == Rounding::none ? static_cast<const void*>(weights.data()) : halves.data(),
          packed.data());
      std::vector<uint16_t> room(
          static_cast<size_t>(2 * rounded_state_size(task.batch, task.hidden)));
      task.rounded = room.data();
      task.packed = packed.data();
      task.sums = sums.data();
      task.first_state = state.data();
      if (task.cell == Cell::lstm) task.first_cell = cell.data();
      if (random.whole(0, 1) == 1) task.candidate_bias = bias.data();
      const Memory empty{
          std::vector<float>(static_cast<size_t>(task.steps * task.batch * out_width), 7.0f),
          std::vector<float>(state.size()), std::vector<float>(state.size())};
      Memory alone = empty;
      alone.give(task);
      run_recurrences({&task, 1});
      Referee referee(task);
      for (int64_t step = 0; step < task.steps; ++step) {
        const int64_t time = task.reverse ? task.steps - 1 - step : step;
        referee.step(weights, time);
        for (int64_t b = 0; b < task.batch; ++b) {
          const float* row = task.out + time * task.out_step + b * task.out_row;
          const auto* begin = referee.state.data() + b * task.hidden;
          ASSERT_NO_FATAL_FAILURE(compare({begin, begin + task.hidden}, row, type));
          for (int64_t u = task.hidden; u < out_width; ++u) ASSERT_EQ(row[u], 7.0f);
        }
      }
      ASSERT_NO_FATAL_FAILURE(compare(referee.state, task.last_state, type));
      if (task.cell == Cell::lstm) {
        ASSERT_NO_FATAL_FAILURE(compare(referee.cell, task.last_cell, type));
      }
      // Two networks in one call, on several threads.
      Memory first = empty, second = empty;
      Recurrence both[] = {task, task};
      first.give(both[0]);
      second.give(both[1]);
      both[1].rounded += rounded_state_size(task.batch, task.hidden);
      run_recurrences(both, &pool);
      ASSERT_TRUE(test::equal_bits(first.out, alone.out));
      ASSERT_TRUE(test::equal_bits(second.out, alone.out));
      ASSERT_TRUE(test::equal_bits(second.last_state, alone.last_state));
      ASSERT_TRUE(test::equal_bits(second.last_cell, alone.last_cell));
    }
  });
}

}  // namespace
}  // namespace pt2::kernels
