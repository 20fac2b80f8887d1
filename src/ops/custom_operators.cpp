#include "pt2/ops/custom_operators.h"

#include "base/printable.h"
#include "ops/bind.h"
#include "ops/custom_operator.h"

namespace pt2 {
namespace {

using ops::Parameter;
using ops::Signature;

Error refused(std::string message, std::string where = "") {
  return {ErrorCode::argument, std::move(message), std::move(where)};
}

std::string quoted(std::string_view text) {
  constexpr size_t kLongest = 300;
  return "'" + printable(text, kLongest) + "'";
}

Result<std::shared_ptr<ops::CustomOperator>> parse(std::string_view schema) {
  auto op = std::make_shared<ops::CustomOperator>(std::string(schema));
  if (op->fault != nullptr)
    return refused(std::string(op->fault) + " in " + quoted(schema),
                   "column " + std::to_string(op->fault_position + 1));
  op->def.signature = &op->signature;
  return op;
}

bool is_method(const Signature& signature) {
  return signature.name.find(':') == std::string_view::npos && signature.parameter_count > 0 &&
         signature.begin()->type.base == ops::BaseType::object && !signature.begin()->type.list;
}

// The target that nodes use for the operator.
Result<std::string> custom_target(const Signature& signature) {
  if (is_method(signature))
    return std::string(signature.begin()->class_name) + "." + std::string(signature.name);
  const size_t colon = signature.name.find("::");
  const bool named = colon != 0 && colon != std::string_view::npos &&
                     colon + 2 < signature.name.size() &&
                     signature.name.find(':', colon + 2) == std::string_view::npos;
  if (!named)
    return refused("found the name " + quoted(signature.name) + ", expected NAMESPACE::NAME",
                   "column 1");
  return ops::target_of(signature);
}

Result<void> check_defaults(const Signature& signature) {
  for (const Parameter& parameter : signature) {
    if (!parameter.has_default) continue;
    if (auto value = ops::default_value(parameter); !value)
      return refused(value.error().message + " in " + quoted(signature.text));
  }
  return {};
}

Result<void> check_types(std::span<const ops::ArgumentType> found,
                         std::span<const ops::ArgumentType> expected, std::string_view what,
                         const Signature& signature) {
  const auto differ = [&](const std::string& text) {
    return refused("the function " + text + ", its signature is " + quoted(signature.text));
  };
  if (found.size() != expected.size())
    return differ("has " + std::to_string(found.size()) + " " + std::string(what) + "s, not " +
                  std::to_string(expected.size()));
  for (size_t i = 0; i < found.size(); ++i)
    if (!found[i].same_shape(expected[i]))
      return differ("has " + ops::type_name(found[i]) + " as " + std::string(what) + " " +
                    std::to_string(i) + ", not " + ops::type_name(expected[i]));
  return {};
}

}  // namespace

Result<void> CustomOperators::add(std::string_view schema, Kernel kernel,
                                  const ops::FunctionShape* shape) {
  PT2_TRY(std::shared_ptr<ops::CustomOperator> op, parse(schema));
  PT2_TRY(std::string target, custom_target(op->signature));
  PT2_TRY_VOID(check_defaults(op->signature));
  if (shape != nullptr) {
    std::vector<ops::ArgumentType> parameters;
    for (const Parameter& parameter : op->signature) parameters.push_back(parameter.type);
    PT2_TRY_VOID(check_types(shape->arguments, parameters, "parameter", op->signature));
    PT2_TRY_VOID(check_types(shape->returns, op->returns, "result", op->signature));
  }
  op->kernel = std::move(kernel);
  if (op->kernel == nullptr) return refused("there is no kernel for " + quoted(schema));
  if (!operators_.try_emplace(target, std::move(op)).second)
    return refused("the operator " + quoted(target) + " is registered twice");
  return {};
}

std::vector<std::string> CustomOperators::targets() const {
  std::vector<std::string> out;
  for (const auto& [target, op] : operators_) out.push_back(target);
  return out;
}

const ops::CustomOperator* CustomOperators::find(std::string_view target) const {
  const auto found = operators_.find(target);
  return found == operators_.end() ? nullptr : found->second.get();
}

}  // namespace pt2
