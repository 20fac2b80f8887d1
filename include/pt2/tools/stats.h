// What a program holds and costs: parameters, bytes, multiply-adds by operator and by module,
// memory of what it computes. Nothing is run.
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
  std::string path{};  // "" is the root; sums include the modules below
  std::string type{};
  uint64_t parameters = 0;
  uint64_t multiply_adds = 0;
};
// Tensors that the program takes from the file. Of those that share their memory only the first has
// elements and bytes.
struct HeldStats {
  uint64_t tensors = 0;
  uint64_t elements = 0;
  uint64_t bytes = 0;
};

struct ProgramStats {
  uint64_t nodes = 0;  // nested graphs included, each once
  HeldStats parameters{}, buffers{}, constants{};
  uint64_t multiply_adds = 0;
  uint64_t peak_bytes = 0;     // results alive at a time, views counted as tensors
  bool assumed_sizes = false;  // sizes that are symbols were taken as they were while exporting
  std::vector<OperatorStats> operators{};     // by multiply-adds, then by calls
  std::vector<ModuleStats> modules{};         // in the order of the hierarchy
  std::map<std::string, HeldStats> dtypes{};  // of parameters, buffers and constants
};

// Numbers stop at 2^64 - 1. Products count (matrix products, convolutions, attention, recurrent
// layers); pointwise work does not. Parameters that share their memory count once where `payloads`
// is given. Linear.
ProgramStats stats(const Program& program, const Payloads* payloads = nullptr);

// Of a tensor's elements; of complex ones their absolute values.
struct TensorRange {
  double min = 0, max = 0, mean = 0;  // without NaNs; 0 where there is nothing else
  int64_t count = 0, nans = 0, infinities = 0;
  bool has_numbers() const { return count > nans; }
};
TensorRange tensor_range(const Tensor& tensor);

// "4.1 G": powers of 1000.
std::string count_text(uint64_t count);

}  // namespace pt2

#endif  // PT2_TOOLS_STATS_H
