#include <algorithm>
#include <optional>

#include "base/check.h"
#include "serde/to_schema_internal.h"

namespace pt2 {
namespace {

using Kind = ArgumentSpec::Kind;

schema::TensorArgument tensor_argument(const ArgumentSpec& spec) { return {.name = spec.name}; }

// Nothing for a value that has no place in ConstantValue.
std::optional<schema::ConstantValue> constant_value(const Argument& value, int version) {
  using enum schema::ConstantValueCase;
  using Value = schema::ConstantValue;
  if (const auto* number = value.get_if<int64_t>()) return Value::make<as_int>(*number);
  if (const auto* number = value.get_if<double>()) return Value::make<as_float>(*number);
  if (const auto* text = value.get_if<std::string>()) return Value::make<as_string>(*text);
  if (const auto* flag = value.get_if<bool>())
    return version < 800 ? Value::make<as_int_bool>(*flag) : Value::make<as_bool>(*flag);
  return value.is<None>() ? std::optional(Value::make<as_none>(schema::None{})) : std::nullopt;
}

// Since 5.3 constant inputs have their own alternative, with the input's name. Other constants stay
// user inputs: nothing.
std::optional<schema::ConstantValue> constant_input_value(const InputSpec& spec, int version) {
  if (!spec.arg.is_constant() || version < 503 || spec.arg.name.empty()) return std::nullopt;
  return constant_value(spec.arg.value, version);
}

schema::InputSpec write_input_spec(const InputSpec& spec, int version) {
  using enum schema::InputSpecCase;
  using Spec = schema::InputSpec;
  const std::string target = spec.target.value_or("");
  switch (spec.kind) {
    case InputKind::user_input:
      if (auto value = constant_input_value(spec, version)) {
        return Spec::make<constant_input>(
            schema::InputToConstantInputSpec{.name = spec.arg.name, .value = *std::move(value)});
      }
      return Spec::make<user_input>(
          schema::UserInputSpec{.arg = write_argument_spec(spec.arg, version)});
    case InputKind::parameter:
      return Spec::make<parameter>(
          schema::InputToParameterSpec{.arg = tensor_argument(spec.arg), .parameter_name = target});
    case InputKind::buffer:
      return Spec::make<buffer>(schema::InputToBufferSpec{
          .arg = tensor_argument(spec.arg),
          .buffer_name = target,
          .persistent = version >= 300 && spec.persistent.value_or(true)});
    case InputKind::constant_tensor:
      return Spec::make<tensor_constant>(schema::InputToTensorConstantSpec{
          .arg = tensor_argument(spec.arg), .tensor_constant_name = target});
    case InputKind::custom_obj:
      return Spec::make<custom_obj>(schema::InputToCustomObjSpec{
          .arg = {.name = spec.arg.name, .class_fqn = spec.arg.class_fqn},
          .custom_obj_name = target});
    case InputKind::token:
      return Spec::make<token>(schema::InputTokenSpec{.arg = {.name = spec.arg.name}});
  }
  return {};
}

schema::OutputSpec write_output_spec(const OutputSpec& spec, int version) {
  using enum schema::OutputSpecCase;
  using Spec = schema::OutputSpec;
  const schema::TensorArgument arg = tensor_argument(spec.arg);
  const std::string target = spec.target.value_or("");
  switch (spec.kind) {
    case OutputKind::user_output:
      return Spec::make<user_output>(
          schema::UserOutputSpec{.arg = write_argument_spec(spec.arg, version)});
    case OutputKind::loss_output:
      return Spec::make<loss_output>(schema::LossOutputSpec{.arg = arg});
    case OutputKind::buffer_mutation:
      return Spec::make<buffer_mutation>(
          schema::BufferMutationSpec{.arg = arg, .buffer_name = target});
    case OutputKind::parameter_mutation:
      return Spec::make<parameter_mutation>(
          schema::ParameterMutationSpec{.arg = arg, .parameter_name = target});
    case OutputKind::gradient_to_parameter:
      return Spec::make<gradient_to_parameter>(
          schema::GradientToParameterSpec{.arg = arg, .parameter_name = target});
    case OutputKind::gradient_to_user_input:
      return Spec::make<gradient_to_user_input>(
          schema::GradientToUserInputSpec{.arg = arg, .user_input_name = target});
    case OutputKind::user_input_mutation:
      return Spec::make<user_input_mutation>(
          schema::UserInputMutationSpec{.arg = arg, .user_input_name = target});
    case OutputKind::token:
      return Spec::make<token>(schema::OutputTokenSpec{.arg = {.name = spec.arg.name}});
  }
  return {};
}

}  // namespace

schema::GraphSignature write_signature(const GraphSignature& signature, int version) {
  schema::GraphSignature out;
  for (const InputSpec& spec : signature.input_specs)
    out.input_specs.push_back(write_input_spec(spec, version));
  for (const OutputSpec& spec : signature.output_specs)
    out.output_specs.push_back(write_output_spec(spec, version));
  return out;
}

schema::GraphSignatureV1 write_signature_v1(const GraphSignature& signature) {
  schema::GraphSignatureV1 out;
  out.inputs_to_parameters = signature.inputs_to_parameters();
  out.inputs_to_buffers = signature.inputs_to_buffers();
  for (const ArgumentSpec& spec : signature.user_inputs()) out.user_inputs.push_back(spec.name);
  for (const ArgumentSpec& spec : signature.user_outputs()) out.user_outputs.push_back(spec.name);
  out.buffers_to_mutate = signature.buffers_to_mutate();
  if (const auto backward = signature.backward_signature()) {
    out.backward_signature =
        schema::BackwardSignature{.gradients_to_parameters = backward->gradients_to_parameters,
                                  .gradients_to_user_inputs = backward->gradients_to_user_inputs,
                                  .loss_output = backward->loss_output};
  }
  return out;
}

}  // namespace pt2
