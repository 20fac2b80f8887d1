// Recorded calls of a program: what went in, what PyTorch answered, what changed. They lie in a
// safetensors file beside the program; the layout is in docs/recorded-calls.md.
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
  // The same result computed in float64, to show how far PyTorch itself was from it.
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
  std::vector<std::pair<std::string, RecordedValue>> buffers;  // changed state, by its name
  std::vector<std::pair<size_t, RecordedValue>> mutated_inputs;  // changed inputs, by their number
  std::optional<RecordedError> error;  // PyTorch refused the call; there are no outputs
  bool random = false;                 // outputs came after torch.manual_seed(0)
  std::string note;
};

struct RecordedCalls {
  std::vector<RecordedCall> calls;  // made one after another on one program
  std::string source;               // which program answered: "loaded", "exported", "module"
};

// Errors: `malformed` where the metadata or a call does not follow the layout, `invalid` where a
// value names a missing tensor or does not fit it, `limit` where strides make a tensor too large.
// `where` is such as "calls[0].in[2]".
Result<RecordedCalls> read_recorded_calls(const Safetensors& file);

}  // namespace pt2

#endif  // PT2_TOOLS_RECORDED_CALLS_H
