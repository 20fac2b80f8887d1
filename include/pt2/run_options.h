// How a model is run: by which engine, with how many threads, and until when.
#ifndef PT2_RUN_OPTIONS_H
#define PT2_RUN_OPTIONS_H

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>

#include "pt2/tensor.h"

namespace pt2 {

enum class EngineKind : uint8_t {
  reference,  // node by node, as the program is written
};

struct SessionOptions {
  // At most so many threads compute a call, the caller's own among them. The reference engine needs
  // one.
  unsigned threads = 1;
};

// When to give a call up. Both are looked at between nodes and between rounds of loops, so that a
// call ends soon after, with error `cancelled`. What it had written by then (state, inputs that the
// program changes) stays written.
struct CallOptions {
  std::stop_token stop{};
  std::optional<std::chrono::steady_clock::time_point> deadline{};
};

// Gives the memory for output `index` of a call, of this dtype and these sizes, in any strides; an
// undefined tensor leaves the output where it was computed. An error ends the call.
using OutputAllocator =
    std::function<Result<Tensor>(size_t index, Dtype dtype, const Sizes& sizes)>;

}  // namespace pt2

#endif  // PT2_RUN_OPTIONS_H
