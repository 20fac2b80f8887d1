// Rows of reductions. The overloads of a reduction differ in the parameters that they have: `dim`
// (none, one number or a list), `keepdim`, `dtype`, and what is subtracted from a count. They share
// a rule and a kernel, which take the OverDims that such parameters give:
//
//   reduces<"aten::prod.dim_int(Tensor self, int dim, …) -> Tensor", sum_meta, prod>
#ifndef PT2_OPS_REDUCTION_OVER_DIMS_H
#define PT2_OPS_REDUCTION_OVER_DIMS_H

#include <algorithm>
#include <array>
#include <string_view>

#include "ops/op_def.h"

namespace pt2::ops {

struct OverDims {
  Sizes dims;             // wrapped; all dims if the call names none
  bool is_empty = false;  // the call gives an empty list of dims
  bool keepdim = false;
  OptionalDtype dtype{};
  double correction = 1;  // subtracted from the count of elements: `correction` or `unbiased`
};

constexpr std::array<std::string_view, 6> kReductionParameters{"self",  "dim",      "keepdim",
                                                               "dtype", "unbiased", "correction"};

// `arguments` are bound to the signature. Error for dims that the first of them, a tensor, lacks.
Result<OverDims> over_dims(const Signature& signature, std::span<const Value> arguments);

// Runs a rule on the tensor and its dims (`infer_boxed`).
template <class Rule>
[[gnu::cold]] Result<std::vector<Meta>> infer_reduction(const OpDef& def,
                                                        std::span<const Value> arguments) {
  PT2_TRY(const OverDims over, over_dims(*def.signature, arguments));
  const Tensor& self = *arguments[0].get_if<Tensor>();
  PT2_TRY(auto metas, as_result(function_at<Rule>(def.rule)(self, over)));
  return meta_list(std::move(metas));
}
// Runs a rule and then a kernel (`compute_boxed`).
template <class Rule, class Kernel>
[[gnu::cold]] Result<std::vector<Value>> compute_reduction(const OpDef& def, Context& context,
                                                           std::span<const Value> arguments) {
  PT2_TRY(const OverDims over, over_dims(*def.signature, arguments));
  PT2_TRY(std::vector<Tensor> outs,
          compute_all(function_at<Rule>(def.rule), function_at<Kernel>(def.function),
                      def.facts.work, context, std::tie(*arguments[0].get_if<Tensor>(), over)));
  return values_of(std::move(outs));
}

template <SignatureText S, auto Rule, auto Kernel, auto... Formula>
constexpr OpDef reduction_row() {
  using R = std::decay_t<decltype(Rule)>;
  using K = std::decay_t<decltype(Kernel)>;
  static_assert(std::ranges::all_of(kSignature<S>,
                                    [](const Parameter& parameter) {
                                      return std::ranges::count(kReductionParameters,
                                                                parameter.name) == 1;
                                    }),
                "over_dims() does not know a parameter");
  static_assert(MetaCount<typename Callable<R>::Return>::kValue == kSignature<S>.return_count,
                "the rule's results differ from the signature");
  const OpDef def{&kSignature<S>, &kAddress<Rule>, &kAddress<Kernel>, &compute_reduction<R, K>,
                  &infer_reduction<R>};
  if constexpr (sizeof...(Formula) == 0)
    return def;
  else
    return written<S, Formula..., true>(def);
}
template <SignatureText S, auto Rule, auto Kernel, auto... Formula>
inline constexpr OpDef reduces = reduction_row<S, Rule, Kernel, Formula...>();

}  // namespace pt2::ops

#endif  // PT2_OPS_REDUCTION_OVER_DIMS_H
