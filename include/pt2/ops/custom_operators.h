// Custom operators: kernels for operators that are not part of PyTorch, and for methods of custom
// C++ classes. A program that calls such operators runs if the caller supplies their kernels.
//
//   pt2::CustomOperators operators;
//   operators.add("mylib::scale(Tensor x, float factor) -> Tensor", scale).value();
//   auto model = pt2::Model::load("model.pt2", {.operators = operators}).value();
//
// `scale` is a function or lambda with the types of the signature: Tensor, int64_t, double, bool,
// std::string, Scalar, Dtype, Layout, Device, MemoryFormat, Object; std::optional<T> for `T?`,
// std::vector<T> for `T[]`, std::tuple for several results. Parameters are values or const
// references. The function returns its results, or a Result of them. For `Tensor(a!)` it gets a
// view of the caller's memory and writes to it.
#ifndef PT2_OPS_CUSTOM_OPERATORS_H
#define PT2_OPS_CUSTOM_OPERATORS_H

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "pt2/ops/boxing.h"
#include "pt2/result.h"
#include "pt2/value.h"

namespace pt2 {

namespace ops {
struct CustomOperator;
}

// A table of custom operators. It is a value: copies share the kernels. Any number of threads may
// call a kernel at once. Operators registered here take precedence over those of the library.
class CustomOperators {
 public:
  // A kernel on values. It gets the arguments in the order of the signature, with defaults filled
  // in and kinds checked, and returns the results in the order of the signature.
  using Kernel = std::function<Result<std::vector<Value>>(std::span<const Value> arguments)>;

  // Registers a function. `schema` is the text that torch.library.define takes, with the namespace,
  // or the signature of a method of a script class, whose first parameter is the object:
  // "get(__torch__.torch.classes.mine.Table self, int key) -> Tensor". Error `argument` if the text
  // is no signature or has an unsupported type (the place has the column), the types of the
  // function differ from those of the signature, the function is null, or the operator is already
  // registered.
  template <class F>
  Result<void> add(std::string_view schema, F function) {
    using Types = ops::FunctionTypes<F>;
    static constexpr auto kArguments = Types::Arguments::types();
    const ops::FunctionShape shape{kArguments, ops::ReturnTypes<typename Types::Return>::kTypes};
    if constexpr (std::is_pointer_v<F> || ops::kIsStdFunction<F>)
      if (function == nullptr) return no_function(schema);
    return add(schema, boxed<typename Types::Arguments>(std::move(function)), &shape);
  }
  // Registers a kernel on values, for signatures whose C++ types are not known at compile time.
  Result<void> add_kernel(std::string_view schema, Kernel kernel) {
    if (kernel == nullptr) return no_function(schema);
    return add(schema, std::move(kernel), nullptr);
  }

  bool empty() const { return operators_.empty(); }
  // Returns the sorted targets: "torch.ops.mylib.scale.default", for a method
  // "__torch__.torch.classes.mine.Table.get".
  std::vector<std::string> targets() const;
  // Returns the operator with this target; null if there is none. O(log n) in the operators.
  const ops::CustomOperator* find(std::string_view target) const;

 private:
  static Error no_function(std::string_view schema) {
    return {ErrorCode::argument, "found a null function, expected one to call",
            std::string(schema)};
  }
  template <class Arguments, class F>
  static Kernel boxed(F function) {
    return [function = std::move(function)](std::span<const Value> arguments) {
      return ops::call_boxed<Arguments>(function, arguments);
    };
  }
  Result<void> add(std::string_view schema, Kernel kernel, const ops::FunctionShape* shape);

  std::map<std::string, std::shared_ptr<const ops::CustomOperator>, std::less<>> operators_;
};

}  // namespace pt2

#endif  // PT2_OPS_CUSTOM_OPERATORS_H
