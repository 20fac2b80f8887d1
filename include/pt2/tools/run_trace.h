// Traces: files with every value that a run computed, by its name in the graph. `pt2 trace` makes
// them, and examples/record_trace.py makes them with PyTorch. docs/traces.md has the layout.
#ifndef PT2_TOOLS_RUN_TRACE_H
#define PT2_TOOLS_RUN_TRACE_H

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pt2/model.h"
#include "pt2/tensor_file.h"
#include "pt2/tools/compare.h"

namespace pt2 {

// Returns a tensor unchanged, and a number as a tensor without dimensions, which is its form in
// files. Nothing for text, None and other values.
std::optional<Tensor> as_tensor(const Value& value);

// Writes the inputs of a run, which a trace begins with: tensors and numbers under the names of the
// graph inputs, without constants.
Result<void> write_inputs(const Program& program, std::span<const Value> inputs,
                          TensorWriter& writer);

// Returns the inputs of the traced run. The trace has them under the names of the graph inputs.
// Inputs that are constants of the program may be missing. Error `argument` with the name of a
// missing input.
Result<std::vector<Value>> inputs_of_trace(const Model& model, const NamedTensors& trace);

// The first value that differs between two runs.
struct Divergence {
  std::string value;        // its name in the trace
  std::string target;       // of the node that computed it
  std::string source_line;  // "model.py:12", empty if unknown
  std::string module_path;
  std::string difference;
};
struct TraceComparison {
  std::optional<Divergence> first;
  size_t agreeing = 0;  // number of equal values before `first`; all values if there is none
  size_t unknown = 0;   // number of values that the trace does not have
  double largest_error = 0;
};

// Runs the session on `inputs` and compares each computed value with that of the trace. The run
// ends at the first value that differs (compare.h). Each node computes from the values of the
// trace, so that errors do not accumulate. Errors: those of the run; `argument` if the trace has
// none of the values.
Result<TraceComparison> compare_with_trace(Session& session, std::vector<Value> inputs,
                                           const NamedTensors& trace,
                                           const CompareOptions& options = {});

}  // namespace pt2

#endif  // PT2_TOOLS_RUN_TRACE_H
