// Outputs that are indices which an operator chose by the size of values. Where two values are
// nearly equal, a rounding decides which of them is chosen.
#ifndef PT2_RUN_INDEX_CHOICES_H
#define PT2_RUN_INDEX_CHOICES_H

#include <string>
#include <vector>

#include "pt2/ir/program.h"
#include "pt2/value.h"

namespace pt2 {

// For each result of the program, the operator that chose it, "aten.topk"; empty for others, and
// for what nested graphs choose.
std::vector<std::string> index_choosers(const Program& program);

// What to know about indices chosen by `chooser` that differ from the expected ones; empty where
// dtypes or sizes differ.
std::string choice_remark(const std::string& chooser, const Value& found, const Value& expected);

}  // namespace pt2

#endif  // PT2_RUN_INDEX_CHOICES_H
