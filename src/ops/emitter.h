// The interface to write composed operators with. A formula says which operator calls give the
// results. The Emitter decides what a call does: run the operator, infer only dtypes and sizes, or
// write a node into a graph (src/lower/decompose):
//
//   Result<Tensor> silu(Emitter& e, const Tensor& self) {
//     return e(aten<"mul.Tensor">, {self, e(aten<"sigmoid.default">, {self})});
//   }
//
// A formula may read dtypes, sizes and numbers, but never elements: its tensors may have none.
#ifndef PT2_OPS_EMITTER_H
#define PT2_OPS_EMITTER_H

#include <initializer_list>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "pt2/ops/boxing.h"
#include "pt2/value.h"

namespace pt2::ops {

struct Context;
struct Meta;
struct OpDef;
struct Operator;

// A function that looks its operator up once (aten<...> of compose.h).
using Handle = const Operator& (*)();

// An argument of a call, or the error of the call that should have computed the argument.
class Operand {
 public:
  template <class T>
  Operand(T value) : value_(box(std::move(value))) {}
  Operand(std::nullopt_t) : value_(Value()) {}
  Operand(Result<Tensor> tensor) : value_(Value()) {
    if (tensor)
      *value_ = Value(*std::move(tensor));
    else
      value_ = std::move(tensor).error();
  }
  const Result<Value>& value() const { return value_; }

 private:
  Result<Value> value_;
};

class Emitter {
 public:
  virtual ~Emitter() = default;
  // `arguments` are in the order of the signature. Omitted trailing arguments take their defaults.
  virtual Result<std::vector<Value>> call(const Operator& op, std::span<const Value> arguments) = 0;
  // True if gradients flow to the tensor: PyTorch chooses some operators by this. Only an Emitter
  // that writes a graph knows it.
  virtual bool requires_grad(const Tensor&) const { return false; }
  // True if the strides of the operands vary with sizes that are not known: a formula then emits
  // operators that are correct for all strides. Only an Emitter that writes a graph knows it.
  virtual bool strides_vary() const { return false; }

  Result<std::vector<Value>> all(Handle handle, std::initializer_list<Operand> arguments);
  // Returns the first result, a tensor.
  Result<Tensor> operator()(Handle handle, std::initializer_list<Operand> arguments);
  // Returns the first results of an operator that has several.
  template <class... T>
  Result<std::tuple<T...>> several(Handle handle, std::initializer_list<Operand> arguments) {
    PT2_TRY(const std::vector<Value> results, all(handle, arguments));
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return std::tuple<T...>{unbox<T>(results[I])...};
    }
    (std::index_sequence_for<T...>{});
  }
  // Returns the tensors of an operator whose result is a list of tensors.
  Result<std::vector<Tensor>> pieces(Handle handle, std::initializer_list<Operand> arguments);
};

// Runs each operator at once.
class Runner final : public Emitter {
 public:
  explicit Runner(Context& context) : context_(context) {}
  Result<std::vector<Value>> call(const Operator& op, std::span<const Value> arguments) override;

 private:
  Context& context_;
};

// Infers the results: tensors without elements, whose dtypes, sizes and strides the rules give.
// Error `unsupported` if the results are known only after running the operator.
class Inferrer : public Emitter {
 public:
  Result<std::vector<Value>> call(const Operator& op, std::span<const Value> arguments) override;
};

// Calls a formula on bound arguments; the implementation of OpDef::compute and OpDef::infer for
// formulas.
Result<std::vector<Value>> run_formula(const OpDef& def, Context& context,
                                       std::span<const Value> arguments);
Result<std::vector<Meta>> infer_formula(const OpDef& def, std::span<const Value> arguments);
// The results as tensors without elements, or lists of such tensors. Requires is_predictable().
Result<std::vector<Value>> infer_values(const OpDef& def, std::span<const Value> arguments);

}  // namespace pt2::ops

#endif  // PT2_OPS_EMITTER_H
