// The form of a node's target, by its spelling (torch/_export/serde/serialize.py,
// serialize_operator and deserialize_operator).
#ifndef PT2_IR_TARGET_H
#define PT2_IR_TARGET_H

#include <cstdint>
#include <string_view>

namespace pt2 {

inline constexpr std::string_view kOps = "torch.ops.";
inline constexpr std::string_view kAten = "torch.ops.aten.";
inline constexpr std::string_view kSymSize = "torch.ops.aten.sym_size.int";

enum class TargetForm : uint8_t {
  overload,      // torch.ops.aten.add.Tensor
  higher_order,  // torch.ops.higher_order.cond; up to 2.5 also torch._higher_order_ops.…, in 2.1
                 // torch.ops.map_impl
  function,      // _operator.add, math.trunc, torch.sym_max: any dotted Python path
  extension,     // #namespace:operator
  other,         // a name that PyTorch could not find
};
TargetForm target_form(std::string_view target);

// Returns "aten" for torch.ops.aten.add.Tensor; empty for other forms.
std::string_view target_namespace(std::string_view target);
// Returns the common name of an operator: "aten.add.Tensor" for torch.ops.aten.add.Tensor. Other
// forms are unchanged.
std::string_view short_target(std::string_view target);
// Returns "add" for torch.ops.aten.add.Tensor; empty for other forms.
std::string_view operator_name(std::string_view target);
// Returns the last part of the path: "cond" for torch.ops.higher_order.cond.
std::string_view last_part(std::string_view target);

// True for the last part of a higher-order operator of PyTorch 2.1 to 2.15 (higher_order.def).
bool is_higher_order_name(std::string_view name);
// True for Python functions that a graph may call (torch/_export/verifier.py, Verifier).
bool is_allowed_function(std::string_view target);
// True if an overload's name says that it writes to its arguments: aten.add_.Tensor, aten.add.out.
bool name_says_mutable(std::string_view target);

}  // namespace pt2

#endif  // PT2_IR_TARGET_H
