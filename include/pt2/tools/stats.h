// Statistics of a program: parameters, bytes, multiply-adds by operator and by module, memory of
// intermediate results. Nothing is run.
#ifndef PT2_TOOLS_STATS_H
#define PT2_TOOLS_STATS_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pt2/ir/program.h"
#include "pt2/package.h"

namespace pt2 {

struct OperatorStats {
  std::string target{};  // "aten.linear.default"
  uint64_t calls = 0;
  uint64_t multiply_adds = 0;
  uint64_t result_bytes = 0;
};
struct ModuleStats {
  std::string path{};  // "" is the root; the numbers include the modules below
  std::string type{};
  uint64_t parameters = 0;
  uint64_t multiply_adds = 0;
};
// Tensors that the program takes from the file. If several share memory, only the first counts for
// elements and bytes.
struct HeldStats {
  uint64_t tensors = 0;
  uint64_t elements = 0;
  uint64_t bytes = 0;
};

struct ProgramStats {
  uint64_t nodes = 0;  // includes nested graphs, each once
  HeldStats parameters{}, buffers{}, constants{};
  uint64_t multiply_adds = 0;
  uint64_t peak_bytes = 0;     // most bytes of results alive at a time; views count as tensors
  bool assumed_sizes = false;  // true if symbolic sizes were replaced by their values at export
  std::vector<OperatorStats> operators{};     // by multiply-adds, then by calls
  std::vector<ModuleStats> modules{};         // in the order of the hierarchy
  std::map<std::string, HeldStats> dtypes{};  // of parameters, buffers and constants
};

// Returns the statistics of a program. Numbers saturate at 2^64 - 1. Multiply-adds are those of
// products (matrix products, convolutions, attention, recurrent layers), not of pointwise
// operators. With `payloads`, parameters that share memory count once. Linear.
ProgramStats stats(const Program& program, const Payloads* payloads = nullptr);

// Statistics of the elements of a tensor. For complex tensors, of their absolute values.
struct TensorRange {
  double min = 0, max = 0, mean = 0;  // NaNs are excluded; 0 if there are no other elements
  int64_t count = 0, nans = 0, infinities = 0;
  bool has_numbers() const { return count > nans; }
};
// Counts nothing for a tensor without memory.
TensorRange tensor_range(const Tensor& tensor);

// Returns the count as text with powers of 1000, "4.1 G".
std::string count_text(uint64_t count);

}  // namespace pt2

#endif  // PT2_TOOLS_STATS_H
