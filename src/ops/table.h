// Finds every operator of this build by the target text of a node. The families are listed once, in
// families.def. Nothing registers itself, so a linker drops nothing and no initialisation order
// matters.
#ifndef PT2_OPS_TABLE_H
#define PT2_OPS_TABLE_H

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ops/forms/owned_signature.h"
#include "ops/op_def.h"

namespace pt2::ops {

struct CustomOperator;

// The operator that a target resolves to, and the form in which it is called.
struct Operator {
  const OpDef* def = nullptr;
  // `aten::add_` has no row of its own: it uses the row of `aten::add` and stores the result in
  // self. Likewise, `_copy` forms of views copy the view's result, and forms with `out` arguments
  // use a functional row (forms/out_forms.h). Aliases of operators are listed in forms/aliases.def.
  enum class Form : uint8_t { as_written, in_place, copy, with_outs };
  Form form = Form::as_written;
  // Set for a registered custom operator (custom_operator.h); null for an operator of this build.
  const CustomOperator* custom = nullptr;
  // Set for a form with `out` arguments, whose signature no row has; null otherwise.
  std::shared_ptr<const OwnedSignature> own_signature = nullptr;

  explicit operator bool() const { return def != nullptr; }
  const Signature& signature() const {
    return own_signature != nullptr ? own_signature->signature : *def->signature;
  }
  // False for custom operators: they draw from no generator of this library.
  bool may_draw() const { return def->may_draw; }
  bool mutates() const { return form == Form::in_place || signature().is_mutable(); }
};

// The operator of a target: "torch.ops.aten.add.Tensor", "torch.ops.aten.relu_.default",
// "_operator.mul", "math.ceil", "torch.sym_max". A null Operator if there is none. O(log of the
// table).
Operator find_operator(std::string_view target);
struct Family {
  std::string_view name;
  std::span<const OpDef> rows;
  bool takes_any_values;  // families.def
};
// All rows, by family.
std::span<const Family> families();
// The family that holds the row; null if none does.
const Family* find_family(const OpDef& def);
// True if the operator's family takes any values. False for a row that is in no family.
bool takes_any_values(const OpDef& def);

// The number of elements of all tensors, including those in lists. A file can declare any number of
// elements in an expanded tensor, so the sum saturates.
uint64_t elements_of(std::span<const Value> values);

// Runs an operator of this build on bound arguments (bind.h). Unless it only returns views, counts
// the elements that it reads and writes as work (MemoryAccount).
Result<std::vector<Value>> call(const Operator& op, Context& context,
                                std::span<const Value> arguments);

}  // namespace pt2::ops

#endif  // PT2_OPS_TABLE_H
