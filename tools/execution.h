// One execution of a program, as in the verbs run and trace.
#ifndef PT2_TOOLS_EXECUTION_H
#define PT2_TOOLS_EXECUTION_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pt2/model.h"
#include "pt2/ops/custom_operators.h"
#include "tools/command.h"
#include "tools/source.h"
#include "tools/values/inputs.h"

namespace pt2::tools {

struct Execution {
  Source source;
  GivenInputs inputs;
  std::vector<std::string> libraries;
  uint64_t seed = 0;
  EngineKind engine = EngineKind::planned;
  unsigned threads = 0;
};

// Adds the options --engine and --threads. `both`, for verbs that can compare engines, receives
// --engine both.
void add_engine_options(CommandLine& line, EngineKind& engine, unsigned& threads,
                        bool* both = nullptr);
// Adds the options --seed, --ops and --model.
void add_execution_options(CommandLine& line, Execution& execution);

struct PreparedCall {
  Model model;
  CallInputs inputs;  // the given inputs, or the file's own samples
};
// Errors: those of open_package, load_operators, Model::from_package, read_inputs.
Result<PreparedCall> prepare_call(const Execution& execution, Environment& environment);

Result<Model> load_model(std::shared_ptr<const Package> package, const Source& source,
                         CustomOperators operators, EngineKind engine);
Result<Model> load_model(Package package, const Source& source, CustomOperators operators,
                         EngineKind engine);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_EXECUTION_H
