// Operators composed of others: each step is a call through the table, so promotion, strides and
// rounding are those of the called operator.
#ifndef PT2_OPS_COMPOSE_H
#define PT2_OPS_COMPOSE_H

#include <initializer_list>

#include "ops/op_def.h"
#include "ops/table.h"

namespace pt2::ops {

// The aten operator with this overload name, which must exist.
Operator known_operator(std::string_view overload);
// known_operator() as a Handle: aten<"mul.Tensor">. A test checks that each overload named in the
// sources exists.
template <SignatureText Overload>
const Operator& aten() {
  static const Operator kOperator =
      known_operator(std::string_view(Overload.text, sizeof(Overload.text) - 1));
  return kOperator;
}

// Runs an operator immediately. For functions that read elements between steps and therefore cannot
// be formulas.
Result<std::vector<Value>> apply_all(Handle handle, std::initializer_list<Operand> arguments);
Result<Tensor> apply(Handle handle, std::initializer_list<Operand> arguments);

// A formula that is another operator, and a function that runs it. `A` are the types of the
// arguments.
template <Handle Base, class... A>
Result<Tensor> delegate(Emitter& e, const A&... argument) {
  return e(Base, {argument...});
}
template <Handle Base, class... A>
Result<Tensor> delegate_at_once(const A&... argument) {
  return apply(Base, {argument...});
}

// A row whose formula gives the rule and the function, but no decomposition: PyTorch leaves the
// operator in a program, as it leaves all outside of ATen.
//
//   kept<"prims::rev(Tensor a, int[] dims) -> Tensor", reverse>
template <class F>
OpDef with_formula(const OpDef& def) {
  OpDef out = def;
  out.formula = def.function;
  out.write_boxed = &write_formula<F>;
  return out;
}
template <class F>
Result<std::vector<Value>> run_kept(const OpDef& def, Context& context,
                                    std::span<const Value> arguments) {
  return run_formula(with_formula<F>(def), context, arguments);
}
template <class F>
Result<std::vector<Meta>> infer_kept(const OpDef& def, std::span<const Value> arguments) {
  return infer_formula(with_formula<F>(def), arguments);
}
template <SignatureText S, auto Formula>
constexpr OpDef kept_row() {
  using F = std::decay_t<decltype(Formula)>;
  check_function<kSignature<S>, F>();
  return {&kSignature<S>, nullptr, &kAddress<Formula>, &run_kept<F>, &infer_kept<F>};
}
template <SignatureText S, auto Formula>
inline constexpr OpDef kept = kept_row<S, Formula>();

}  // namespace pt2::ops

#endif  // PT2_OPS_COMPOSE_H
