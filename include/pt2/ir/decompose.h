// Decomposes operators into the operators that PyTorch defines them by, as
// ExportedProgram.run_decompositions does: linear becomes permute and addmm, softmax becomes
// _softmax. Operators that write to memory become functional ones, and the new values of inputs
// results. If one of them cannot, because it has no functional form or writes to memory that inputs
// share, all of them stay.
//
//   PT2_TRY(pt2::Decomposition done, pt2::decompose(program));
//   if (done.left.empty()) contents.programs[0].json = pt2::program_json(done.program);
#ifndef PT2_IR_DECOMPOSE_H
#define PT2_IR_DECOMPOSE_H

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pt2/diagnostics.h"
#include "pt2/ir/program.h"
#include "pt2/limits.h"

namespace pt2 {

struct DecomposeOptions {
  // The operators that may remain. "core" stands for every operator that PyTorch does not
  // decompose. Other operators are given by name, "aten.linear". Operators of other namespaces may
  // always remain.
  std::vector<std::string> to{"core"};
  // Returns a number for the memory of a weight: equal numbers share it, which a program alone does
  // not tell. Null if no weights share memory.
  std::function<std::optional<size_t>(const InputSpec&)> storage_of{};
  Limits limits{};
};

// An operator that should have been decomposed but could not be.
struct LeftOperator {
  std::string text{};
  std::string where{};  // the place in the program's JSON, if `node` is not set
  NodePlace node{};

  // Returns "%lstm (torch.ops.aten.lstm.input): this version has no formula for it".
  std::string line() const;
};

struct Decomposition {
  // Computes the same results as the original, even if operators are left.
  Program program{};
  bool changed = false;
  std::vector<LeftOperator> left{};
};

// Decomposes a program. Error `argument` for a name that no operator has. Linear in the nodes.
Result<Decomposition> decompose(const Program& program, const DecomposeOptions& options = {});

}  // namespace pt2

#endif  // PT2_IR_DECOMPOSE_H
