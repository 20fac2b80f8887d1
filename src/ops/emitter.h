// What operators that are made of others are written over: a formula says which operators give its
// results, and each use of it says what a call of an operator means. To run it now, to tell dtypes
// and sizes alone, or to write nodes into a graph (src/lower/decompose):
//
//   Result<Tensor> silu(Emitter& e, const Tensor& self) {
//     return e(aten<"mul.Tensor">, {self, e(aten<"sigmoid.default">, {self})});
//   }
//
// A formula looks at dtypes, sizes and numbers, never at elements; its tensors may have none.
#ifndef PT2_OPS_EMITTER_H
#define PT2_OPS_EMITTER_H

#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "pt2/boxing.h"
#include "pt2/value.h"

namespace pt2::ops {

struct Context;
struct Meta;
struct OpDef;
struct Operator;

// An operator that is looked up once (aten of compose.h).
using Handle = const Operator& (*)();

// An argument of a call, or the failure of the call that was to give it.
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
  // `arguments` in the order of the signature; those left out at the end take their defaults.
  virtual Result<std::vector<Value>> call(const Operator& op, std::span<const Value> arguments) = 0;

  Result<std::vector<Value>> all(Handle handle, std::initializer_list<Operand> arguments);
  // The first result, a tensor.
  Result<Tensor> operator()(Handle handle, std::initializer_list<Operand> arguments);
  // The tensors of an operator whose result is a list of them.
  Result<std::vector<Tensor>> pieces(Handle handle, std::initializer_list<Operand> arguments);
};

// Runs each operator.
class Runner final : public Emitter {
 public:
  explicit Runner(Context& context) : context_(context) {}
  Result<std::vector<Value>> call(const Operator& op, std::span<const Value> arguments) override;

 private:
  Context& context_;
};

// Gives tensors without elements: dtypes, sizes and strides are what the rules say. Error
// `unsupported` where only running tells.
class Inferrer : public Emitter {
 public:
  Result<std::vector<Value>> call(const Operator& op, std::span<const Value> arguments) override;
};

// A formula on bound arguments, as OpDef::compute and OpDef::infer.
Result<std::vector<Value>> run_formula(const OpDef& def, Context& context,
                                       std::span<const Value> arguments);
Result<std::vector<Meta>> infer_formula(const OpDef& def, std::span<const Value> arguments);

}  // namespace pt2::ops

#endif  // PT2_OPS_EMITTER_H
