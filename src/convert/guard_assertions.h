// Guards as assertion nodes, for releases whose schema has no field for guards.
#ifndef PT2_CONVERT_GUARD_ASSERTIONS_H
#define PT2_CONVERT_GUARD_ASSERTIONS_H

#include <functional>
#include <optional>

#include "convert/converter.h"
#include "pt2/ir/guards.h"

namespace pt2 {

// The first schema with a field for guards.
inline constexpr int kFirstWithGuards = 811;

// A guard's source in the program: the input that it names, and the number that the program's
// tables record for the source (the input's value or size).
struct GuardOperand {
  ValueId value{};
  SymInt number{};
};
using FindOperand = std::function<std::optional<GuardOperand>(const GuardSource&)>;

// Where new nodes go: before a given node or at the end. `metadata` is that of every new node:
// torch.export.unflatten demands a module of each.
struct AssertionPlace {
  std::optional<NodeId> before{};
  Metadata metadata{};
};

// Inserts nodes into the program's graph that raise an error where the guard does not hold, as
// PyTorch's own deferred assertions do (torch/fx/passes/runtime_assert.py). Returns null then;
// otherwise changes nothing and returns the first release that can take the guard: one with its
// operators, or with a field for guards. Fails where the nodes are more than the budget of all
// passes allows. O(n log n) in the guard.
Result<const Release*> assert_guard(Converter& converter, const Guard& guard,
                                    const FindOperand& find, const AssertionPlace& place);

}  // namespace pt2

#endif  // PT2_CONVERT_GUARD_ASSERTIONS_H
