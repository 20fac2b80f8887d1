// Recorded calls of a program: inputs, results of PyTorch, and changed state. They are stored in a
// safetensors file beside the program. docs/recorded-calls.md has the layout.
#ifndef PT2_TOOLS_RECORDED_CALLS_H
#define PT2_TOOLS_RECORDED_CALLS_H

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pt2/format/safetensors.h"
#include "pt2/result.h"
#include "pt2/value.h"

namespace pt2 {

struct RecordedValue {
  Value value;
  // The same result computed in float64. It shows the error of PyTorch itself.
  std::optional<Tensor> reference;
};

struct RecordedError {
  std::string type;  // "RuntimeError"
  std::string text;
};

struct RecordedCall {
  std::vector<Value> inputs;                                   // flat order of (args, kwargs)
  std::vector<std::string> keyword_names;                      // of the arguments passed by keyword
  std::vector<RecordedValue> outputs;                          // flat order of the result
  std::vector<std::pair<std::string, RecordedValue>> buffers;  // changed state, by name
  std::vector<std::pair<size_t, RecordedValue>> mutated_inputs;  // changed inputs, by index
  std::optional<RecordedError> error;  // set if PyTorch refused the call; then outputs is empty
  bool random = false;                 // true if torch.manual_seed(0) preceded the call
  std::string note;
};

struct RecordedCalls {
  std::vector<RecordedCall> calls;  // consecutive calls of one program
  std::string source;               // the program that PyTorch ran: "loaded", "exported", "module"
};

// Reads recorded calls. Errors: `malformed` if the metadata or a call does not follow the layout,
// `invalid` if a value names a missing tensor or does not fit it, `limit` if strides make a tensor
// too large. Their `where` is a path such as "calls[0].in[2]".
Result<RecordedCalls> read_recorded_calls(const Safetensors& file);

}  // namespace pt2

#endif  // PT2_TOOLS_RECORDED_CALLS_H
