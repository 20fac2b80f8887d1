// Operators that the authors of a program wrote, and methods of their C++ classes: bring kernels
// for them, and the program runs.
//
//   pt2::CustomOperators operators;
//   operators.add("mylib::scale(Tensor x, float factor) -> Tensor", scale).value();
//   auto model = pt2::Model::load("model.pt2", {.operators = operators}).value();
//
// `scale` is any function or lambda with the types of the signature: Tensor, int64_t, double, bool,
// std::string, Scalar, Dtype, Layout, Device, MemoryFormat, Object; std::optional<T> for `T?`,
// std::vector<T> for `T[]`, std::tuple for several results; by value or const reference. It returns
// its results, or a Result of them. A `Tensor(a!)` is a view of the caller's memory to write to.
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

// A value: copies share the kernels, which must be callable from any number of threads. Operators
// registered here take precedence over the library's own.
class CustomOperators {
 public:
  // Arguments in the order of the signature, with defaults filled in and kinds checked; results in
  // its order.
  using Kernel = std::function<Result<std::vector<Value>>(std::span<const Value> arguments)>;

  // `schema` is what torch.library.define takes, with its namespace, or the text of a method of a
  // script class, whose first parameter is the object: "get(__torch__.torch.classes.mine.Table
  // self, int key) -> Tensor". Error `argument`, with the column in its place, when the text is no
  // signature or has a type that is not supported; when the function's types are not those of the
  // signature; when the function is null; when the operator was registered before.
  template <class F>
  Result<void> add(std::string_view schema, F function) {
    using Types = ops::FunctionTypes<F>;
    static constexpr auto kArguments = Types::Arguments::types();
    const ops::FunctionShape shape{kArguments, ops::ReturnTypes<typename Types::Return>::kTypes};
    if constexpr (std::is_pointer_v<F> || ops::kIsStdFunction<F>)
      if (function == nullptr) return no_function(schema);
    return add(schema, boxed<typename Types::Arguments>(std::move(function)), &shape);
  }
  // The same for a kernel on values, where C++ types cannot be written down.
  Result<void> add_kernel(std::string_view schema, Kernel kernel) {
    if (kernel == nullptr) return no_function(schema);
    return add(schema, std::move(kernel), nullptr);
  }

  bool empty() const { return operators_.empty(); }
  // "torch.ops.mylib.scale.default", sorted; of methods "__torch__.torch.classes.mine.Table.get".
  std::vector<std::string> targets() const;
  // Null when there is none. O(log of the operators).
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
