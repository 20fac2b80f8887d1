#include "ops/compose.h"

#include "base/check.h"

namespace pt2::ops {

Operator known_operator(std::string_view overload) {
  Operator op = find_operator("torch.ops.aten." + std::string(overload));
  PT2_CHECK(op);
  return op;
}

Result<std::vector<Value>> apply_all(Handle handle, std::initializer_list<Operand> arguments) {
  Context context;
  return Runner(context).all(handle, arguments);
}

Result<Tensor> apply(Handle handle, std::initializer_list<Operand> arguments) {
  Context context;
  return Runner(context)(handle, arguments);
}

}  // namespace pt2::ops
