// Traces: files with every value that a run computed, by its name in the graph. Made by `pt2
// trace`, or from PyTorch itself by examples/record_trace.py; docs/traces.md has the layout.
#ifndef PT2_TOOLS_RUN_TRACE_H
#define PT2_TOOLS_RUN_TRACE_H

#include <optional>
#include <string>
#include <vector>

#include "pt2/model.h"
#include "pt2/tensor_file.h"
#include "pt2/tools/compare.h"

namespace pt2 {

// A number as a tensor without dimensions, which is how files hold it; a tensor as it is; nothing
// for text, None and other values.
std::optional<Tensor> as_tensor(const Value& value);

// The inputs of the traced run, which lie in the trace under the names of the graph's inputs. Those
// that the program fixes may be missing. Error `argument` naming an input that is not there.
Result<std::vector<Value>> inputs_of_trace(const Model& model, const NamedTensors& trace);

// The place where two runs part.
struct Divergence {
  std::string value;        // its name in the trace
  std::string target;       // of the node that computed it
  std::string source_line;  // "model.py:12", empty when unknown
  std::string module_path;
  std::string difference;
};
struct TraceComparison {
  std::optional<Divergence> first;
  size_t agreeing = 0;  // values before it, all of them where there is none
  size_t unknown = 0;   // values that the trace does not have
  double largest_error = 0;
};

// Runs the session on `inputs` and compares each value as it is computed with that of the trace;
// the run ends at the first that differs (compare.h). Each node computes from the trace's values,
// so that errors do not add up. Errors: those of the run; `argument` when the
// trace has none of the values.
Result<TraceComparison> compare_with_trace(Session& session, std::vector<Value> inputs,
                                           const NamedTensors& trace,
                                           const CompareOptions& options = {});

}  // namespace pt2

#endif  // PT2_TOOLS_RUN_TRACE_H
