// Forms of operators that write their results into given tensors: `aten::add.out` is
// `aten::add.Tensor` with a `Tensor(a!) out` after its parameters. Tables have no rows for these
// forms: their signature and behaviour follow from the functional row.
#ifndef PT2_OPS_FORMS_OUT_FORMS_H
#define PT2_OPS_FORMS_OUT_FORMS_H

#include <memory>
#include <string_view>
#include <vector>

#include "ops/forms/owned_signature.h"
#include "ops/op_def.h"

namespace pt2::ops {

inline constexpr std::string_view kAtenTargets = "torch.ops.aten.";

// Candidates for the functional target of the out form `target`, likely ones first; the first
// candidate with a row is the functional one. Empty if the overload does not look like an out form.
std::vector<std::string> functional_targets(std::string_view target);

// The signature of the out form `target` of the functional row `def`. Null if the row has no out
// form, because it mutates an argument or a result is not a tensor.
std::shared_ptr<const OwnedSignature> make_out_form(std::string_view target, const OpDef& def);

// Runs the functional row and stores its results in the out arguments, which are the last
// arguments. Returns them. As in PyTorch, an out of other sizes is resized, an out of the right
// sizes keeps its strides, and every out keeps its dtype, to which the result must be castable. A
// resized out is a new tensor if its storage is too small. Error `invalid` if a result cannot be
// stored.
Result<std::vector<Value>> call_with_outs(const OpDef& def, const Signature& signature,
                                          Context& context, std::span<const Value> arguments);

// Returns what call_with_outs returns, the out arguments, from sizes and dtypes alone. Error
// `unsupported` if an out has other sizes than its result: it would be resized.
Result<std::vector<Value>> infer_with_outs(const OpDef& def, const Signature& signature,
                                           std::span<const Value> arguments);

}  // namespace pt2::ops

#endif  // PT2_OPS_FORMS_OUT_FORMS_H
