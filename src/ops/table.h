// Every operator of this build, found by the target text of a node. The families are listed once,
// in table.cpp; nothing registers itself, so nothing is dropped by a linker or depends on an order.
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

// What a target resolves to.
struct Operator {
  const OpDef* def = nullptr;
  // `aten::add_` has no row of its own: it is the row of `aten::add`, whose result is written into
  // self. The same for `_copy` forms of views, whose result is copied, and for forms with `out`
  // arguments (forms/out_forms.h). Other names of an operator are listed in forms/aliases.def.
  enum class Form : uint8_t { as_written, in_place, copy, with_outs };
  Form form = Form::as_written;
  // Of an operator that is not the build's own (custom_operator.h); null otherwise.
  const CustomOperator* custom = nullptr;
  // Of a form with outs, which no row has; null otherwise.
  std::shared_ptr<const OwnedSignature> own_signature = nullptr;

  explicit operator bool() const { return def != nullptr; }
  const Signature& signature() const {
    return own_signature != nullptr ? own_signature->signature : *def->signature;
  }
  // Custom operators bring no generator of ours.
  bool may_draw() const { return def->may_draw; }
  bool mutates() const { return form == Form::in_place || signature().is_mutable(); }
};

// "torch.ops.aten.add.Tensor", "torch.ops.aten.relu_.default", "_operator.mul", "math.ceil",
// "torch.sym_max". A null Operator when there is none. O(log of the table).
Operator find_operator(std::string_view target);
struct Family {
  std::string_view name;
  std::span<const OpDef> rows;
  bool takes_any_values;  // families.def
};
// Every row, family by family.
std::span<const Family> families();
// Null for a row that is in none.
const Family* find_family(const OpDef& def);
// Whether the operator's family does. False for a row that is in none.
bool takes_any_values(const OpDef& def);

// Of all tensors, also in lists. Expanded ones have as many elements as a file says: the sum stops
// at the largest number.
uint64_t elements_of(std::span<const Value> values);

// Runs an operator of the build on bound arguments (bind.h). Counts what it reads and writes, views
// apart, as work (MemoryAccount).
Result<std::vector<Value>> call(const Operator& op, Context& context,
                                std::span<const Value> arguments);

}  // namespace pt2::ops

#endif  // PT2_OPS_TABLE_H
