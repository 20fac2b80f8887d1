// Forms of operators that write their results into tensors given for them: `aten::add.out` is
// `aten::add.Tensor` with a `Tensor(a!) out` behind its parameters. No row of a table says so: the
// form, its signature and what it does follow from the functional row.
#ifndef PT2_OPS_FORMS_OUT_FORMS_H
#define PT2_OPS_FORMS_OUT_FORMS_H

#include <memory>
#include <string_view>
#include <vector>

#include "ops/forms/owned_signature.h"
#include "ops/op_def.h"

namespace pt2::ops {

// The functional targets that a target may be the out form of, likely ones first; the first that
// has a row is meant. None when the overload does not look like that of an out form.
std::vector<std::string> functional_targets(std::string_view target);

// The signature of the form `target` of the functional row `def`; null when the row has no such
// form: it writes to an argument, or a result is no tensor.
std::shared_ptr<const OwnedSignature> make_out_form(std::string_view target, const OpDef& def);

// Runs the functional row and stores its results in the outs, which are the last arguments. As in
// PyTorch an out is resized when its sizes differ, keeps its strides when they do not, and keeps
// its dtype, to which the result must be castable. The results are the outs; a resized out is a
// tensor of its own where its storage is too small. Error `invalid` when a result cannot be stored.
Result<std::vector<Value>> call_with_outs(const OpDef& def, const Signature& signature,
                                          Context& context, std::span<const Value> arguments);

}  // namespace pt2::ops

#endif  // PT2_OPS_FORMS_OUT_FORMS_H
