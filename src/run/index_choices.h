// Outputs that are indices which an operator chose by the size of values. Where two values are
// nearly equal, a rounding decides which of them is chosen.
#ifndef PT2_RUN_INDEX_CHOICES_H
#define PT2_RUN_INDEX_CHOICES_H

#include <optional>
#include <string>
#include <vector>

#include "pt2/model.h"
#include "pt2/tools/compare.h"

namespace pt2 {

struct IndexChoice {
  std::string chooser;         // "aten.topk"; empty for an output that none chose
  std::string indices;         // the names of the output in the graph,
  std::string values;          // and of the tensor that it chose from
  std::optional<int64_t> dim;  // none: from all elements
};

// One for each result of the program. What nested graphs choose is not among them.
std::vector<IndexChoice> index_choices(const Program& program);

// The tensor that each of `choices` is made from, as it is when the session runs on `inputs`;
// undefined where it is not known.
std::vector<Tensor> values_to_choose(Session& session, std::vector<Value> inputs,
                                     const std::vector<IndexChoice>& choices);

struct ChoiceVerdict {
  bool is_tie = false;  // whichever indices are right, the values there are equal by the tolerance
  std::string text;     // empty where dtypes or sizes differ
};

// On indices that differ from the expected ones.
ChoiceVerdict judge_choice(const IndexChoice& choice, const Value& found, const Value& expected,
                           const Tensor& values, const CompareOptions& options);

}  // namespace pt2

#endif  // PT2_RUN_INDEX_CHOICES_H
