// A step for attention, whether the program has it as one operator or as its parts.
#ifndef PT2_RUN_PLAN_ATTENTION_H
#define PT2_RUN_PLAN_ATTENTION_H

#include <optional>

#include "run/plan/planner.h"

namespace pt2::run {

struct AttentionArguments {
  const BoundArgument* query = nullptr;
  const BoundArgument* key = nullptr;
  const BoundArgument* value = nullptr;
  const BoundArgument* mask = nullptr;  // null if there is none
  bool causal = false;
  bool mask_may_be_bools = false;   // true marks keys to attend to
  bool may_be_halves = false;       // the result has the same dtype
  bool empty_rows_are_nan = false;  // rows of queries that attend to no key
  bool grouped = false;             // fewer key heads than query heads
  int64_t repeats = 0;              // query heads for each key head; 0: any number
  std::optional<double> scale{};    // PyTorch's default if absent
};

// Keys or values in which each head is repeated for several query heads.
struct RepeatedHeads {
  const BoundArgument* heads = nullptr;  // before the repetition
  int64_t repeats = 1;
  Step::Nodes nodes{};  // nodes that repeat the heads, unordered
};
// Matches by the recorded sizes; nullopt if `argument` is not made this way.
std::optional<RepeatedHeads> match_repeated_heads(const Planner& planner,
                                                  const BoundArgument& argument);

StepPointer make_attention_step(Step::Nodes nodes, const AttentionArguments& arguments);

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_ATTENTION_H
