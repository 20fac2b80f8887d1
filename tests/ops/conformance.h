// Compares operators with recorded calls of PyTorch. One safetensors file per overload holds
// samples of arguments and results (layout: tests/ops/README.md).
#ifndef PT2_TESTS_OPS_CONFORMANCE_H
#define PT2_TESTS_OPS_CONFORMANCE_H

#include <string>
#include <vector>

#include "pt2/result.h"
#include "pt2/value.h"

namespace pt2::ops {

struct ConformanceFailure {
  int sample = 0;
  std::string text;
};

struct ConformanceReport {
  std::string overload;  // "aten.add.Tensor"
  std::string tier;      // "T1"
  bool known = false;    // false when the table lacks the operator: every sample counts as skipped
  int passed = 0;
  int skipped = 0;
  std::vector<ConformanceFailure> failures;
};

struct RecordedCall {
  std::string target;  // "torch.ops.aten.add.Tensor"
  std::vector<Value> arguments;
  bool shares_memory = false;  // a result of PyTorch's call is a view of an argument
};
// Returns the calls of a file, bound to their signature; empty if the table lacks the operator.
Result<std::vector<RecordedCall>> read_recorded_calls(const std::string& path);
// Returns the calls of every file in a folder, in the order of file names. Skips unreadable files.
std::vector<RecordedCall> read_recorded_folder(const std::string& folder);

// Selects the code that computes: the row's kernel, or only its formula. With `by_formula`, a row
// without a formula counts as unknown.
enum class Computed : uint8_t { by_row, by_formula };
// Runs every sample of the file. Errors are those of reading it.
Result<ConformanceReport> check_conformance(const std::string& path,
                                            Computed computed = Computed::by_row);

}  // namespace pt2::ops

#endif  // PT2_TESTS_OPS_CONFORMANCE_H
