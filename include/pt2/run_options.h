// Options of runs: engine, threads, cancellation, callbacks and memory for outputs.
#ifndef PT2_RUN_OPTIONS_H
#define PT2_RUN_OPTIONS_H

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/ir/node.h"
#include "pt2/tensor.h"

namespace pt2 {

enum class EngineKind : uint8_t {
  planned,    // compiles the program: fuses nodes, packs weights, reuses memory
  reference,  // computes node by node, in the order of the program
};

struct SessionOptions {
  // The most threads that compute a call, including the calling thread. 0: as many as the process
  // can keep busy. Results do not depend on the number. The reference engine uses one thread.
  unsigned threads = 0;
  // True if larger inputs raise the limits of a call on memory and work (Limits::max_tensor_ratio,
  // max_work). Use false for generated inputs whose sizes come from an untrusted file.
  bool inputs_raise_limits = true;
};

// The metadata key of nodes that passes create. Its value identifies the original node in the
// program of the file: the name of that node, or of its first result.
inline constexpr std::string_view kSourceNode = "pt2_source_node";

// The time of one step of a planned call.
struct StepTime {
  std::string_view kernel;             // "convolution"; "reference" if there is no faster kernel
  std::span<const Node* const> nodes;  // the nodes that the step computes; the last has the result
  std::chrono::nanoseconds time;
};

// One step of a plan: one kernel call, and the values that die after it.
struct PlannedStep {
  std::string_view kernel;               // as in StepTime
  std::string result;                    // the value that it computes, or else its last node
  std::vector<std::string> operators{};  // its operators in order: "aten.conv2d.default"
  std::vector<std::string> released{};   // values whose memory is free for reuse after this step
};

// An input that is a prefix of a larger tensor along one dimension. Example: the keys and values of
// the tokens of a language model so far, with room for further tokens. If the program concatenates
// a tensor onto the input along that dimension, the engine writes this tensor into the room if it
// can. The result is then a view of `room`, and the prefix is not copied. Elements of the input
// itself do not change.
struct GrowingInput {
  size_t input = 0;  // index into Model::inputs()
  size_t dim = 0;
  Tensor room{};  // has the input's storage, offset, strides and sizes, but is larger along `dim`
};

// Cancellation, observation and growing inputs of a call. The engine checks stop, deadline and
// should_stop between nodes and between loop iterations, not inside an operator and not while a
// model is loaded. A cancelled call ends with error `cancelled`. State and inputs that it has
// changed stay changed.
struct CallOptions {
  std::stop_token stop{};
  std::optional<std::chrono::steady_clock::time_point> deadline{};
  // Called at each check, on the calling thread. The result true cancels the call.
  std::function<bool()> should_stop{};
  // Called after each step of the planned engine, if not empty.
  std::function<void(const StepTime&)> on_step{};
  // Called with each text that the program prints, without a line break at its end, on the calling
  // thread (torch/_higher_order_ops/print.py, aten::_print). If empty, the texts are dropped.
  std::function<void(std::string_view)> on_print{};
  // Inputs with room to grow. No two of them may share elements. Error `argument` if one does not
  // fit its input.
  std::span<const GrowingInput> growing{};
};

// Returns the memory for output `index` of a call: a tensor with this dtype, these sizes and any
// strides. An undefined tensor leaves the output in the memory where it was computed. An error ends
// the call.
using OutputAllocator =
    std::function<Result<Tensor>(size_t index, Dtype dtype, const Sizes& sizes)>;

}  // namespace pt2

#endif  // PT2_RUN_OPTIONS_H
