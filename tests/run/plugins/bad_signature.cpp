#include "pt2/ops/plugin.h"

PT2_PLUGIN(operators) {
  return operators.add("corpus::note(Tensor x) -> ", [](const pt2::Tensor& x) { return x; });
}
