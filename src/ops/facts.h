// Properties of an operator besides its signature, rule and kernel. A row only lists those that
// differ from the defaults:
//
//   op<"aten::mm(Tensor self, Tensor mat2) -> Tensor", mm_meta, mm>.with(
//       {.autocast = AutocastRule::lower_precision})
#ifndef PT2_OPS_FACTS_H
#define PT2_OPS_FACTS_H

#include <cstdint>
#include <string_view>

namespace pt2::ops {

// The casts that torch.autocast applies to floating arguments on a CPU
// (aten/src/ATen/autocast_mode.cpp). PyTorch's lists contain no composed operators. If all
// arithmetic of a composed operator is done by operators of one list, it has the rule of that list.
enum class AutocastRule : uint8_t {
  as_given,
  lower_precision,  // the dtype of the region
  float32,
  widest,  // the widest dtype among the arguments
};

// When a result shares memory with an argument. A signature's `Tensor(a)` only means "possibly".
enum class Sharing : uint8_t {
  as_signed,            // a view if the signature marks an alias, else memory of its own
  always,               // a view, although the signature marks no alias or marks a mutation
  possibly,             // sometimes a view; the condition is not known
  where_strides_allow,  // a view if a view can have the requested sizes (at::infer_size_dv)
  unless_cast,          // the argument itself if it has the requested dtype, device and layout
  unless_complex,       // a view if the argument is real
  unless_contiguous,    // the argument itself if it is contiguous already
  unless_dropping,      // the argument itself if nothing is dropped (ATen/native/Dropout.cpp)
};

// How to recompute the base after a view of it has changed.
enum class Inverse : uint8_t {
  none,     // no operator can recompute it
  same,     // the result is the argument itself
  expand,   // several elements of the result are one of the base: no operator writes to it
  reshape,  // the same elements in the same order
  repeat,   // the operator is its own inverse: a transposition
  permute,  // the inverse permutation
  move,     // source and destination swapped
  scatter,  // Facts::scatter writes the part into the base, with the view's arguments
  narrow,   // slice_scatter
  pieces,   // slice_scatter for each result; a piece begins where the previous one ends
  unbind,   // select_scatter for each result, at the index of the result
};

// How the result depends on the arguments; derivatives use it.
enum class Slope : uint8_t {
  by_rule,   // unknown, or given by a formula of its own
  constant,  // locally constant: rounding, tensors of given elements. Integer results always are
  linear,    // in all parameters of Facts::linear_in together, tensors and numbers
};

// The reason why an operator that PyTorch decomposes (CompositeImplicitAutograd, not in core ATen)
// has no formula here.
enum class Undecomposed : uint8_t {
  no,              // it has a formula, is an alias, or is not decomposed by PyTorch
  gives_numbers,   // a result is a number, which torch.export computes during tracing
  reads_elements,  // the choice of operators in its decomposition depends on elements
  lacks_steps,     // its decomposition uses operators that are not in the table, or no operators
};

struct Facts {
  AutocastRule autocast = AutocastRule::as_given;
  Sharing sharing = Sharing::as_signed;
  Inverse inverse = Inverse::none;
  std::string_view scatter{};  // for Inverse::scatter: "select_scatter"
  Slope slope = Slope::by_rule;
  std::string_view linear_in = "self";  // parameter names separated by spaces
  // True if the in-place form writes values that do not depend on self. Then self's elements may
  // overlap.
  bool overwrites = false;
  // True if the result depends only on the sizes of tensors, although some tensor argument is not
  // the base of the view.
  bool looks_at_sizes_alone = false;
  // True if the result depends on the strides of the arguments, not only on their elements.
  bool looks_at_strides = false;
  // The `out` form computes in the dtype of out unless a dtype is given
  // (ATen/native/ReduceOpsUtils.h infer_dtype_from_optional).
  bool takes_dtype_of_out = false;
  // The name of the parameter that decides whether running_mean and running_var are updated.
  // Signatures omit this mutation (ATen/native/Normalization.cpp). Empty for operators without
  // running statistics.
  std::string_view updates_statistics_if{};
  // For an operator that mutates arguments: the aten overload that only computes
  // ("dropout.default").
  std::string_view functional_form{};
  // The aten overload with the same parameters of which this operator is an alias ("cat.default").
  std::string_view same_as{};
  // The index of the result that holds positions along `dim`: those of the elements of `self` that
  // were selected by comparing values, without duplicates. -1 if there is no such result.
  int8_t chosen_indices = -1;
  Undecomposed undecomposed = Undecomposed::no;
  // States when one call for a batch draws the same numbers as a sequence of calls for the batch's
  // elements: if it draws one number per element of a tensor of the given sizes (by_sizes), or of
  // the given tensor (by_elements) (aten/src/ATen/functorch/BatchRulesRandomness.cpp).
  enum class Draws : uint8_t { otherwise, by_sizes, by_elements } draws = Draws::otherwise;
  // The time that one element of the operands, or of a kernel's results, takes beyond the usual few
  // nanoseconds (call() in table.h), if that time is much longer. In nanoseconds, for the slowest
  // values.
  uint16_t work = 0;
};

}  // namespace pt2::ops

#endif  // PT2_OPS_FACTS_H
