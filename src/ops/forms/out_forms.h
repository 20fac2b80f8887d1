// Forms of operators that write their results into given tensors: `aten::add.out` is
// `aten::add.Tensor` with a `Tensor(a!) out` after its parameters. The tables have no rows for
// them: the form's signature and behaviour follow from the functional row.
#ifndef PT2_OPS_FORMS_OUT_FORMS_H
#define PT2_OPS_FORMS_OUT_FORMS_H

#include <memory>
#include <string_view>
#include <vector>

#include "ops/forms/owned_signature.h"
#include "ops/op_def.h"

namespace pt2::ops {

inline constexpr std::string_view kAtenTargets = "torch.ops.aten.";

// The functional targets of which `target` may be the out form, likely ones first; the first that
// has a row is meant. Empty when the overload does not look like an out form.
std::vector<std::string> functional_targets(std::string_view target);

// The signature of the out form `target` of the functional row `def`; null when the row can have no
// out form, because it writes to an argument or a result is no tensor.
std::shared_ptr<const OwnedSignature> make_out_form(std::string_view target, const OpDef& def);

// Runs the functional row and stores its results in the outs, which are the last arguments. As in
// PyTorch, an out with other sizes is resized, one with the right sizes keeps its strides, and
// every out keeps its dtype, to which the result must be castable. Returns the outs; a resized out
// gets a new tensor when its storage is too small. Error `invalid` when a result cannot be stored.
Result<std::vector<Value>> call_with_outs(const OpDef& def, const Signature& signature,
                                          Context& context, std::span<const Value> arguments);

}  // namespace pt2::ops

#endif  // PT2_OPS_FORMS_OUT_FORMS_H
