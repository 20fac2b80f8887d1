// pt2 diff --run: finds where the results of two programs diverge.
#ifndef PT2_COMMAND_RUN_DIFF_H
#define PT2_COMMAND_RUN_DIFF_H

#include <string>
#include <vector>

#include "tools/command.h"
#include "tools/source.h"
#include "tools/values/inputs.h"

namespace pt2::tools {

struct RunDiffOptions {
  bool run = false;
  GivenInputs inputs;
  std::vector<std::string> libraries;
  uint64_t seed = 0;
};
// Adds the options --run, --input, --seed and --ops.
void add_run_diff_options(CommandLine& line, RunDiffOptions& options);

// Runs both programs and prints the differences. Inputs are named as in the first program; without
// given inputs, uses its sample inputs or random ones. Both programs take them by position.
Result<int> diff_runs_of(const Source& before, const Source& after, const RunDiffOptions& options,
                         bool as_json, Environment& environment);

}  // namespace pt2::tools

#endif  // PT2_COMMAND_RUN_DIFF_H
