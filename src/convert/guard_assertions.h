// Writes guards as assertion nodes, for releases whose schema has no field for guards.
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

// The place of new nodes: before a given node or at the end. Every new node gets `metadata`:
// torch.export.unflatten requires a module for each node.
struct AssertionPlace {
  std::optional<NodeId> before{};
  Metadata metadata{};
};

// Inserts nodes into the program's graph that raise an error if the guard does not hold, as
// PyTorch's own deferred assertions do (torch/fx/passes/runtime_assert.py). Returns null on
// success. Otherwise changes nothing and returns the first release that can take the guard: one
// with the needed operators, or with a field for guards. Error if the nodes exceed the budget of
// all passes. O(n log n) in the guard.
Result<const Release*> assert_guard(Converter& converter, const Guard& guard,
                                    const FindOperand& find, const AssertionPlace& place);

}  // namespace pt2

#endif  // PT2_CONVERT_GUARD_ASSERTIONS_H
