// What is known of an operator besides its signature, its rule and its kernel. A row says what
// differs from the defaults:
//
//   op<"aten::mm(Tensor self, Tensor mat2) -> Tensor", mm_meta, mm>.with(
//       {.autocast = AutocastRule::lower_precision})
#ifndef PT2_OPS_FACTS_H
#define PT2_OPS_FACTS_H

#include <cstdint>
#include <string_view>

namespace pt2::ops {

// What torch.autocast does to floating arguments on a CPU (aten/src/ATen/autocast_mode.cpp).
// Operators that are made of others are on none of PyTorch's lists; those whose arithmetic is all
// in listed ones have the rule of these.
enum class AutocastRule : uint8_t {
  as_given,
  lower_precision,  // the dtype of the region
  float32,
  widest,  // the widest among the arguments
};

// When a result shares the memory of an argument. `Tensor(a)` of a signature says "possibly".
enum class Sharing : uint8_t {
  as_signed,            // a view where the signature has one, and memory of its own elsewhere
  always,               // a view, though the signature does not say so, or says that it writes
  possibly,             // nobody knows when
  where_strides_allow,  // a view if there is one with the sizes asked for (at::infer_size_dv)
  unless_cast,          // the argument itself if dtype, device and layout are those asked for
  unless_complex,       // a view if the argument is real
  unless_contiguous,    // the argument itself if its elements lie in order already
  unless_dropping,      // the argument itself if nothing is dropped (ATen/native/Dropout.cpp)
};

// How the whole is found again when a view of it has changed.
enum class Inverse : uint8_t {
  none,     // no operator does it
  same,     // the result is the argument itself
  reshape,  // the same elements in the same order
  repeat,   // the operator undoes itself: a transposition
  permute,  // the inverse permutation
  move,     // source and destination change places
  scatter,  // Facts::scatter writes the part into the whole, with the arguments of the view
  narrow,   // slice_scatter
  pieces,   // slice_scatter, each result behind the one before it
  unbind,   // select_scatter, each result by its number
};

// How the result changes with the arguments, for derivatives.
enum class Slope : uint8_t {
  by_rule,   // a formula of its own, or none
  constant,  // the same for all values nearby: comparisons, sizes, roundings
  linear,    // in all of Facts::linear_in together
};

struct Facts {
  AutocastRule autocast = AutocastRule::as_given;
  Sharing sharing = Sharing::as_signed;
  Inverse inverse = Inverse::none;
  std::string_view scatter{};  // "select_scatter", of Inverse::scatter
  Slope slope = Slope::by_rule;
  std::string_view linear_in = "self";  // names of parameters with spaces between
  // The in-place form writes the same whatever self holds, so that elements may share a place.
  bool overwrites = false;
  // The sizes of its tensors tell all, though not all of them are those of the view's argument.
  bool looks_at_sizes_alone = false;
  // The form with `out` computes in the dtype of out when no other is asked for
  // (ATen/native/ReduceOpsUtils.h infer_dtype_from_optional).
  bool takes_dtype_of_out = false;
  // The parameter that says whether running_mean and running_var are updated, which signatures do
  // not say (ATen/native/Normalization.cpp); empty where there are none.
  std::string_view updates_statistics_if{};
  // Of an operator that writes: the overload of aten that only computes ("dropout.default").
  std::string_view functional_form{};
  // The overload of aten that it is another name of ("cat.default"), with the same parameters.
  std::string_view same_as{};
  // PyTorch makes it of others (CompositeImplicitAutograd) and core ATen has it not. Rows with a
  // formula need not say so.
  bool composite = false;
  // What it draws for a batch in one call is what it draws for the elements one after the other:
  // one number for each element of a tensor of these sizes, or of this tensor
  // (aten/src/ATen/functorch/BatchRulesRandomness.cpp).
  enum class Draws : uint8_t { otherwise, by_sizes, by_elements } draws = Draws::otherwise;
};

}  // namespace pt2::ops

#endif  // PT2_OPS_FACTS_H
