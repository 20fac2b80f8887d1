#include "ops/compose.h"

#include "base/check.h"
#include "ops/bind.h"
#include "ops/table.h"

namespace pt2::ops {

Result<std::vector<Value>> apply_all(std::string_view overload,
                                     std::initializer_list<Value> arguments) {
  const Operator op = find_operator("torch.ops.aten." + std::string(overload));
  PT2_CHECK(op);
  const Signature& signature = op.signature();
  std::vector<Value> bound;
  for (const Value& argument : arguments) {
    PT2_TRY(Value value, coerce(signature.parameter_array[bound.size()], argument));
    bound.push_back(std::move(value));
  }
  while (bound.size() < signature.parameter_count) {
    PT2_TRY(Value value, default_value(signature.parameter_array[bound.size()]));
    bound.push_back(std::move(value));
  }
  Context context;
  return call(op, context, bound);
}

Result<Tensor> apply(std::string_view overload, std::initializer_list<Value> arguments) {
  PT2_TRY(std::vector<Value> results, apply_all(overload, arguments));
  PT2_CHECK(!results.empty() && results[0].is<Tensor>());
  return *std::move(results[0].get_if<Tensor>());
}

}  // namespace pt2::ops
