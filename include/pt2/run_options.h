// How a model is run: by which engine, with how many threads, and until when.
#ifndef PT2_RUN_OPTIONS_H
#define PT2_RUN_OPTIONS_H

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "pt2/ir/node.h"
#include "pt2/tensor.h"

namespace pt2 {

enum class EngineKind : uint8_t {
  planned,    // nodes joined, weights packed, memory used again
  reference,  // node by node, as the program is written
};

struct SessionOptions {
  // The most threads that compute a call, the caller's own included; 0 is as many as the process
  // may keep busy. Results are the same for any number. The reference engine needs one.
  unsigned threads = 0;
  // Whether inputs let a call hold and compute more (Limits::max_tensor_ratio, max_work). False for
  // inputs that are made up, as large as a file says that nobody trusts.
  bool inputs_raise_limits = true;
};

// The metadata of nodes that passes made, by which they can be found in the program of the file:
// the name of the node, or of its first result.
inline constexpr std::string_view kSourceNode = "pt2_source_node";

// What one step of a planned call took.
struct StepTime {
  std::string_view kernel;             // "convolution"; "reference" where there is no faster one
  std::span<const Node* const> nodes;  // that the step computes, the last one's result
  std::chrono::nanoseconds time;
};

// One step of a plan: what a call computes in one go, and what it gives back behind it.
struct PlannedStep {
  std::string_view kernel;               // as in StepTime
  std::string result;                    // the value that it makes, or else its last node
  std::vector<std::string> operators{};  // that it computes, in order: "aten.conv2d.default"
  std::vector<std::string> released{};   // values whose memory is used again from here on
};

// An input that is the beginning of a larger tensor along one dimension: the keys and values that a
// language model has computed so far, with room for those to come. What the program concatenates
// onto it along that dimension is written into the room, where an engine can do that, and the
// result is then a view of `room`: nothing that was there before is copied. Elements of the input
// itself do not change.
struct GrowingInput {
  size_t input = 0;  // among Model::inputs()
  size_t dim = 0;
  Tensor room{};  // the input's storage, offset, strides and sizes, but for a larger `dim`
};

// When to give a call up, who watches it, and what it may write to. Stop and deadline are looked at
// between nodes and rounds of loops, not inside an operator nor while a model is loaded; the call
// then ends with error `cancelled`. What it had written (state, changed inputs) stays written.
struct CallOptions {
  std::stop_token stop{};
  std::optional<std::chrono::steady_clock::time_point> deadline{};
  // Asked as often, by the thread that called; true gives the call up.
  std::function<bool()> should_stop{};
  // Told after each step of the planned engine, if there is one to tell.
  std::function<void(const StepTime&)> on_step{};
  // No two of them share elements. Error `argument` where one does not fit its input.
  std::span<const GrowingInput> growing{};
};

// Gives the memory for output `index` of a call, of this dtype and these sizes, in any strides; an
// undefined tensor leaves the output where it was computed. An error ends the call.
using OutputAllocator =
    std::function<Result<Tensor>(size_t index, Dtype dtype, const Sizes& sizes)>;

}  // namespace pt2

#endif  // PT2_RUN_OPTIONS_H
