#include "ops/random_draws.h"

#include <algorithm>

namespace pt2::ops {

bool may_draw(const Operator& op) {
  constexpr std::string_view kProbabilities[] = {"dropout", "dropout_p", "p"};
  const Signature& signature = op.signature();
  return signature.name.find("rand") != std::string_view::npos ||
         std::ranges::any_of(signature, [&](const Parameter& parameter) {
           return parameter.type.base == BaseType::generator ||
                  (parameter.type.base == BaseType::number &&
                   std::ranges::find(kProbabilities, parameter.name) != std::end(kProbabilities));
         });
}

}  // namespace pt2::ops
