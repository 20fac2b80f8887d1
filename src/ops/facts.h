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

// What torch.autocast does to floating arguments on a CPU (aten/src/ATen/autocast_mode.cpp).
// Composed operators are on none of PyTorch's lists; one whose arithmetic is all done by operators
// of one list has that list's rule.
enum class AutocastRule : uint8_t {
  as_given,
  lower_precision,  // the dtype of the region
  float32,
  widest,  // the widest dtype among the arguments
};

// When a result shares memory with an argument. A signature's `Tensor(a)` only means "possibly".
enum class Sharing : uint8_t {
  as_signed,            // a view where the signature says so, and memory of its own elsewhere
  always,               // a view, though the signature does not say so, or says that it writes
  possibly,             // not known when
  where_strides_allow,  // a view if one has the requested sizes (at::infer_size_dv)
  unless_cast,          // the argument itself if it has the requested dtype, device and layout
  unless_complex,       // a view if the argument is real
  unless_contiguous,    // the argument itself if it is contiguous already
  unless_dropping,      // the argument itself if nothing is dropped (ATen/native/Dropout.cpp)
};

// How the base is recomputed after a view of it has changed.
enum class Inverse : uint8_t {
  none,     // no operator can
  same,     // the result is the argument itself
  reshape,  // the same elements in the same order
  repeat,   // the operator is its own inverse: a transposition
  permute,  // the inverse permutation
  move,     // source and destination swapped
  scatter,  // Facts::scatter writes the part into the base, with the view's arguments
  narrow,   // slice_scatter
  pieces,   // slice_scatter, each result beginning where the one before it ends
  unbind,   // select_scatter, each result by its number
};

// How the result depends on the arguments, for derivatives.
enum class Slope : uint8_t {
  by_rule,   // a formula of its own, or unknown
  constant,  // locally constant: roundings, tensors of given elements. Integers are anyway
  linear,    // in all parameters of Facts::linear_in together, tensors and numbers
};

// Why an operator that PyTorch decomposes (CompositeImplicitAutograd, not in core ATen) has no
// formula here.
enum class Undecomposed : uint8_t {
  no,              // it has a formula or is another name, or PyTorch does not decompose it
  gives_numbers,   // a result is a number, which torch.export computes while it traces
  reads_elements,  // which operators it is made of depends on elements
  lacks_steps,     // it is made of operators that are not in the table, or of none
};

struct Facts {
  AutocastRule autocast = AutocastRule::as_given;
  Sharing sharing = Sharing::as_signed;
  Inverse inverse = Inverse::none;
  std::string_view scatter{};  // "select_scatter", of Inverse::scatter
  Slope slope = Slope::by_rule;
  std::string_view linear_in = "self";  // parameter names separated by spaces
  // The in-place form writes the same values whatever self holds, so its elements may overlap.
  bool overwrites = false;
  // The result depends on the sizes of tensors alone, though not all of these tensors are the
  // viewed argument.
  bool looks_at_sizes_alone = false;
  // Tensors of equal elements that lie otherwise in memory give other results.
  bool looks_at_strides = false;
  // The `out` form computes in the dtype of out unless a dtype is given
  // (ATen/native/ReduceOpsUtils.h infer_dtype_from_optional).
  bool takes_dtype_of_out = false;
  // The parameter that says whether running_mean and running_var are updated, a mutation that
  // signatures omit (ATen/native/Normalization.cpp); empty for operators without running
  // statistics.
  std::string_view updates_statistics_if{};
  // For an operator that writes: the aten overload that only computes ("dropout.default").
  std::string_view functional_form{};
  // The aten overload of which this one is an alias ("cat.default"), with the same parameters.
  std::string_view same_as{};
  // The result that holds which elements of `self` along `dim` were chosen by their size, none of
  // them twice; -1 where none does.
  int8_t chosen_indices = -1;
  Undecomposed undecomposed = Undecomposed::no;
  // Whether one call for a whole batch draws the numbers that calls for its elements in sequence
  // would draw: one number per element of a tensor of the given sizes, or of the given tensor
  // (aten/src/ATen/functorch/BatchRulesRandomness.cpp).
  enum class Draws : uint8_t { otherwise, by_sizes, by_elements } draws = Draws::otherwise;
  // What an element of the operands, or of the results of a kernel, takes beyond the usual few
  // nanoseconds (call() in table.h), where it is many more: in nanoseconds, of the slowest values.
  uint16_t work = 0;
};

}  // namespace pt2::ops

#endif  // PT2_OPS_FACTS_H
