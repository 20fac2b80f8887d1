// Guards as nodes, for releases whose schema has no field for them.
#ifndef PT2_CONVERT_GUARD_ASSERTIONS_H
#define PT2_CONVERT_GUARD_ASSERTIONS_H

#include <functional>
#include <optional>

#include "convert/converter.h"
#include "pt2/guards.h"

namespace pt2 {

// What a source of a guard, the value or a size of an input, is in the program: the input, and the
// number that the program's tables have for the source.
struct GuardOperand {
  ValueId value{};
  SymInt number{};
};
using FindOperand = std::function<std::optional<GuardOperand>(const GuardSource&)>;

// Puts nodes into the program's graph, before another or at the end, that raise an error where the
// guard does not hold, as PyTorch's own deferred assertions do (torch/fx/passes/runtime_assert.py).
// False, and nothing is changed, where a source is unknown or the target lacks one of the
// operators. O(n log n) in the guard.
bool assert_guard(Converter& converter, const Guard& guard, const FindOperand& find,
                  std::optional<NodeId> before);

}  // namespace pt2

#endif  // PT2_CONVERT_GUARD_ASSERTIONS_H
