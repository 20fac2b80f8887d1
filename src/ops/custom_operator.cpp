#include "ops/custom_operator.h"

#include "base/printable.h"
#include "ops/bind.h"

namespace pt2::ops {
namespace {

constexpr size_t kLongest = 300;

}  // namespace

Operator find_operator(const CustomOperators& operators, std::string_view target) {
  if (const CustomOperator* custom = operators.find(target))
    return {&custom->def, Operator::Form::as_written, custom};
  return find_operator(target);
}

Result<std::vector<Value>> call_custom(const CustomOperator& op, std::span<const Value> arguments) {
  PT2_TRY(std::vector<Value> results, op.kernel(arguments));
  const auto wrong = [&](const std::string& text) {
    return Error{ErrorCode::argument,
                 "the kernel of " + std::string(op.signature.name) + " returned " + text +
                     ", its signature is '" + printable(op.signature.text, kLongest) + "'",
                 ""};
  };
  if (results.size() != op.returns.size()) return wrong(std::to_string(results.size()) + " values");
  for (size_t i = 0; i < results.size(); ++i)
    if (!fits(op.returns[i], results[i]))
      return wrong(results[i].type_text() + " as result " + std::to_string(i));
  return results;
}

}  // namespace pt2::ops
