// The interface over which composed operators are written. A formula says which operator calls give
// the results; the Emitter decides what a call does: run the operator now, infer dtypes and sizes
// only, or write a node into a graph (src/lower/decompose):
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

// An operator that is looked up once (aten<...> of compose.h).
using Handle = const Operator& (*)();

// An argument of a call, or the error of the call that should have produced it.
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
  // `arguments` are in the order of the signature; omitted trailing ones take their defaults.
  virtual Result<std::vector<Value>> call(const Operator& op, std::span<const Value> arguments) = 0;
  // Whether gradients flow to the tensor, by which PyTorch chooses among operators; only a graph
  // says so.
  virtual bool requires_grad(const Tensor&) const { return false; }

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

// Infers: the results have no elements, and the rules give their dtypes, sizes and strides. Error
// `unsupported` where only running the operator tells.
class Inferrer : public Emitter {
 public:
  Result<std::vector<Value>> call(const Operator& op, std::span<const Value> arguments) override;
};

// Calls a formula on bound arguments, as OpDef::compute and OpDef::infer.
Result<std::vector<Value>> run_formula(const OpDef& def, Context& context,
                                       std::span<const Value> arguments);
Result<std::vector<Meta>> infer_formula(const OpDef& def, std::span<const Value> arguments);
// The results without elements, lists of tensors among them; requires is_predictable().
Result<std::vector<Value>> infer_values(const OpDef& def, std::span<const Value> arguments);

}  // namespace pt2::ops

#endif  // PT2_OPS_EMITTER_H
