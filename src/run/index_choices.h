// Outputs that are indices which an operator chose by comparing values. If two values are nearly
// equal, rounding decides between them.
#ifndef PT2_RUN_INDEX_CHOICES_H
#define PT2_RUN_INDEX_CHOICES_H

#include <optional>
#include <string>
#include <vector>

#include "pt2/model.h"
#include "pt2/tools/compare.h"

namespace pt2 {

struct IndexChoice {
  std::string chooser;         // "aten.topk"; empty if no operator chose the output
  std::string indices;         // name of the output in the graph
  std::string values;          // name of the tensor that the operator chose from
  std::optional<int64_t> dim;  // absent: chosen from all elements
};

// Returns one choice per user output of the program. Choices inside nested graphs are not found.
std::vector<IndexChoice> index_choices(const Program& program);

// Runs the session on `inputs` and returns the tensors that `choices` are made from, as they are
// when the choice is made; undefined if unknown.
std::vector<Tensor> values_to_choose(Session& session, std::vector<Value> inputs,
                                     const std::vector<IndexChoice>& choices);

struct ChoiceVerdict {
  bool is_tie = false;  // the values at both sets of indices are equal by the tolerance
  std::string text;     // empty if dtypes or sizes differ
};

// Judges indices that differ from the expected ones.
ChoiceVerdict judge_choice(const IndexChoice& choice, const Value& found, const Value& expected,
                           const Tensor& values, const CompareOptions& options);

}  // namespace pt2

#endif  // PT2_RUN_INDEX_CHOICES_H
