// Where the runs of two programs on the same inputs part.
//
//   const auto pairs = pt2::paired_values(before.program(), after.program());  // diff.h
//   PT2_TRY(pt2::RunDifference difference, pt2::diff_runs(before, after, inputs, pairs));
#ifndef PT2_TOOLS_RUN_DIFF_H
#define PT2_TOOLS_RUN_DIFF_H

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "pt2/diagnostics.h"
#include "pt2/model.h"
#include "pt2/tools/compare.h"

namespace pt2 {

struct OutputDifference {
  std::string before, after;  // its names; empty where the program has no such output
  std::string type;           // of the value after, "f32[2, 4]"
  Comparison comparison;      // of after, as found, with before, as expected
};

struct RunDifference {
  std::vector<OutputDifference> outputs;  // by their position

  // The value where the runs part, in the order of the second.
  struct First {
    NodePlace before, after;  // the nodes that computed it, under the names of their values
    std::string type;
    Comparison comparison;
  };
  std::optional<First> first;
  size_t agreeing = 0;  // values before it, all of them where there is none
  // Values after it, which may differ because it does.
  size_t later = 0, later_differing = 0;
  // Values of either run that were not compared, those of nested graphs included.
  size_t unpaired = 0;

  // Whether the outputs are equal; values before them may differ.
  bool outputs_equal() const;
};

// Runs both on `inputs`, node by node, and compares the values of `pairs` (names in the graphs,
// before and after) and the outputs. Each run has copies of the inputs and computes from its own
// values. Those of the first run that have a pair are held until the second has them too. Both runs
// together may hold what one call may hold. Errors: those of both runs, under the name of the file.
Result<RunDifference> diff_runs(Session& before, Session& after, std::span<const Value> inputs,
                                std::span<const std::pair<std::string, std::string>> pairs,
                                const CompareOptions& options = {});

}  // namespace pt2

#endif  // PT2_TOOLS_RUN_DIFF_H
