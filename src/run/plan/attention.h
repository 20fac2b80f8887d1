// A step for attention, whether the program has it as one operator or as its parts.
#ifndef PT2_RUN_PLAN_ATTENTION_H
#define PT2_RUN_PLAN_ATTENTION_H

#include <cstdint>
#include <limits>
#include <optional>

#include "run/plan/planner.h"

namespace pt2::run {

// What the mask of an attention holds.
enum class AttentionMask : uint8_t {
  added,   // numbers that are added to the scores
  any,     // these, or booleans as in `kept`
  kept,    // booleans: true for keys to attend to
  hidden,  // booleans: true for other keys
};

struct AttentionArguments {
  const BoundArgument* query = nullptr;
  const BoundArgument* key = nullptr;
  const BoundArgument* value = nullptr;
  const BoundArgument* mask = nullptr;  // null if there is none
  bool causal = false;
  AttentionMask mask_holds = AttentionMask::added;
  // The score of what a mask of booleans hides; not 0.
  float hidden_score = -std::numeric_limits<float>::infinity();
  bool may_be_halves = false;       // the result has the same dtype
  bool empty_rows_are_nan = false;  // rows of queries that attend to no key
  bool grouped = false;             // fewer key heads than query heads
  int64_t repeats = 0;              // query heads for each key head; 0: any number
  std::optional<double> scale{};    // PyTorch's default if absent
};

// If keys and values repeat their heads equally often, gives the heads before the repetition to
// `arguments`, and adds the nodes that repeat them.
void take_repeated_heads(const Planner& planner, AttentionArguments& arguments, Step::Nodes& nodes);

StepPointer make_attention_step(Step::Nodes nodes, const AttentionArguments& arguments);

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_ATTENTION_H
