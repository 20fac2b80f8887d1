// Finds the first difference between the runs of two programs on the same inputs.
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
  std::string before, after;  // its names; empty if the program has no such output
  std::string type;           // type of the value in `after`, "f32[2, 4]"
  Comparison comparison;      // `after` is the found value, `before` the expected one
};

struct RunDifference {
  std::vector<OutputDifference> outputs;  // by position

  // The first value that differs, in the order of the second run.
  struct First {
    NodePlace before, after;  // the nodes that computed it; they have the names of their values
    std::string type;
    Comparison comparison;
  };
  std::optional<First> first;
  size_t agreeing = 0;  // number of equal values before `first`; all values if there is none
  // Numbers of values after `first`, and of those that differ. They may differ because of `first`.
  size_t later = 0, later_differing = 0;
  // Number of values of either run that were not compared, including those of nested graphs.
  size_t unpaired = 0;

  // True if the outputs are equal, even if intermediate values differ.
  bool outputs_equal() const;
};

// Runs both sessions on `inputs`, node by node. Compares the values of `pairs` (names in the graphs
// before and after) and the outputs. Each run gets copies of the inputs and computes from its own
// values. Paired values of the first run are held until the second run computes their partners.
// Both runs together may hold the memory that one call may hold. Errors: those of both runs, at the
// file name.
Result<RunDifference> diff_runs(Session& before, Session& after, std::span<const Value> inputs,
                                std::span<const std::pair<std::string, std::string>> pairs,
                                const CompareOptions& options = {});

}  // namespace pt2

#endif  // PT2_TOOLS_RUN_DIFF_H
