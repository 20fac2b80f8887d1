// Random calls of any operator of the table, with arguments of the right kinds but hostile values.
#ifndef PT2_TESTS_OPS_RANDOM_CALLS_H
#define PT2_TESTS_OPS_RANDOM_CALLS_H

#include <random>
#include <string>
#include <vector>

#include "ops/conformance.h"
#include "pt2/value.h"

namespace pt2::ops {

class RandomCalls {
 public:
  // `seeds` are valid calls; some are repeated with one or two arguments replaced.
  RandomCalls(uint64_t seed, std::vector<RecordedCall> seeds);

  // Returns the next call of the sequence, which the seed determines.
  RecordedCall next();
  // Returns a call of the given operator.
  RecordedCall next_of(const std::string& target);

 private:
  bool chance(int percent) { return static_cast<int>(random_() % 100) < percent; }
  int64_t below(int64_t count) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(count));
  }
  void choose_common();
  RecordedCall made_up(const std::string& target);
  RecordedCall changed();
  Value argument(const struct Parameter& parameter);
  Value element(const struct Parameter& parameter);
  Tensor tensor();
  Sizes sizes();
  int64_t integer();
  double number();
  std::string text(const struct Parameter& parameter);

  std::mt19937_64 random_;
  std::vector<RecordedCall> seeds_;
  std::vector<std::string> targets_;
  // Sizes that the tensors of one call share.
  Sizes common_sizes_;
  Dtype common_dtype_ = Dtype::float32;
};

// "torch.ops.aten.add.Tensor(f32[2, 3], 1, ...)".
std::string call_text(const RecordedCall& call);

// Runs the call with at most `max_tensor_bytes` per tensor and ignores its result.
void run_call(const RecordedCall& call, uint64_t max_tensor_bytes);

}  // namespace pt2::ops

#endif  // PT2_TESTS_OPS_RANDOM_CALLS_H
