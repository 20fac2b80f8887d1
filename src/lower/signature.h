// What signatures say about written inputs, and changes that passes make to them.
#ifndef PT2_LOWER_SIGNATURE_H
#define PT2_LOWER_SIGNATURE_H

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "pt2/ir/program.h"

namespace pt2 {

// The kind of outputs that are new values of inputs of this kind; nothing if there are none.
std::optional<OutputKind> mutation_of(InputKind kind);

// Finds the inputs that outputs write.
class MutationTargets {
 public:
  explicit MutationTargets(const GraphSignature& signature);

  // Returns the position of the input. Nothing (nullopt) if the output is no mutation, or if its
  // input does not exist. O(log of the inputs).
  std::optional<size_t> find(const OutputSpec& spec) const;

 private:
  std::map<std::pair<OutputKind, std::string>, size_t> inputs_;
};

// Updates the names of results that other values now produce, also in module_call_graph. A module
// call loses its signature if that names values that no longer exist. Linear.
void rename_results(Program& program);

}  // namespace pt2

#endif  // PT2_LOWER_SIGNATURE_H
