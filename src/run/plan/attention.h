// Attention as a step, whether the program has it as one operator or as its parts.
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
  bool mask_may_be_bools = false;   // that say which keys to attend to
  bool may_be_halves = false;       // what they are, is their result
  bool empty_rows_are_nan = false;  // of queries that attend to no key
  bool grouped = false;             // fewer heads of keys than of queries
  int64_t repeats = 0;              // so many times fewer; 0: any number
  std::optional<double> scale{};    // PyTorch's default if absent
};

// Keys or values of which each head is repeated for several of the queries.
struct RepeatedHeads {
  const BoundArgument* heads = nullptr;  // before that
  int64_t repeats = 1;
  Step::Nodes nodes{};  // that repeat them, in no order
};
// Nothing where `argument` is not made so, by what the program records of sizes.
std::optional<RepeatedHeads> match_repeated_heads(const Planner& planner,
                                                  const BoundArgument& argument);

StepPointer make_attention_step(Step::Nodes nodes, const AttentionArguments& arguments);

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_ATTENTION_H
