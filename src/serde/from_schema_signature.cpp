#include <fmt/format.h>

#include "base/hash/text_hash.h"
#include "serde/from_schema_internal.h"

namespace pt2 {
namespace {

using Kind = ArgumentSpec::Kind;

ArgumentSpec tensor_spec(std::string name) {
  return {.kind = Kind::tensor, .name = std::move(name)};
}

Error unknown_spec(const schema::UnknownCase& unknown, const ReadContext& context) {
  return context.fail(ErrorCode::unsupported,
                      fmt::format("the spec '{}' is not known to this version", unknown->tag));
}

Result<Argument> constant_value(schema::ConstantValue& source, const ReadContext& context) {
  using enum schema::ConstantValueCase;
  switch (source.which()) {
    case as_none:
      return Argument(None{});
    case as_int:
      return Argument(source.get<as_int>());
    case as_int_bool:
      return Argument(bool{source.get<as_int_bool>()});
    case as_float:
      return Argument(source.get<as_float>());
    case as_string:
      return Argument(std::move(source.get<as_string>()));
    case as_bool:
      return Argument(source.get<as_bool>());
    case unknown:
      break;
  }
  return unknown_spec(source.get<unknown>(), context);
}

InputSpec make_input(InputKind kind, ArgumentSpec arg, std::string target) {
  return {.kind = kind, .arg = std::move(arg), .target = std::move(target)};
}

Result<InputSpec> read_input_spec(schema::InputSpec& source, ReadContext& context) {
  using enum schema::InputSpecCase;
  switch (source.which()) {
    case user_input: {
      PT2_TRY(ArgumentSpec arg, read_argument_spec(source.get<user_input>().arg, context));
      return InputSpec{.kind = InputKind::user_input, .arg = std::move(arg)};
    }
    case parameter: {
      auto& spec = source.get<parameter>();
      return make_input(InputKind::parameter, tensor_spec(spec.arg.name), spec.parameter_name);
    }
    case buffer: {
      auto& spec = source.get<buffer>();
      InputSpec result =
          make_input(InputKind::buffer, tensor_spec(spec.arg.name), spec.buffer_name);
      // Schema 2 does not record persistence; its state dict holds every buffer.
      result.persistent = context.major <= 2 ? true : spec.persistent;
      return result;
    }
    case tensor_constant: {
      auto& spec = source.get<tensor_constant>();
      return make_input(InputKind::constant_tensor, tensor_spec(spec.arg.name),
                        spec.tensor_constant_name);
    }
    case custom_obj: {
      auto& spec = source.get<custom_obj>();
      ArgumentSpec arg{
          .kind = Kind::custom_obj, .name = spec.arg.name, .class_fqn = spec.arg.class_fqn};
      return make_input(InputKind::custom_obj, std::move(arg), spec.custom_obj_name);
    }
    case token:
      return InputSpec{.kind = InputKind::token,
                       .arg = {.kind = Kind::token, .name = source.get<token>().arg.name}};
    case constant_input: {
      auto& spec = source.get<constant_input>();
      PT2_TRY(Argument value, constant_value(spec.value, context));
      ArgumentSpec arg{.kind = Kind::constant, .name = spec.name, .value = std::move(value)};
      return InputSpec{.kind = InputKind::user_input, .arg = std::move(arg)};
    }
    case unknown:
      break;
  }
  return unknown_spec(source.get<unknown>(), context);
}

OutputSpec make_output(OutputKind kind, std::string name,
                       std::optional<std::string> target = std::nullopt) {
  return {.kind = kind, .arg = tensor_spec(std::move(name)), .target = std::move(target)};
}

Result<OutputSpec> read_output_spec(schema::OutputSpec& source, ReadContext& context) {
  using enum schema::OutputSpecCase;
  switch (source.which()) {
    case user_output: {
      PT2_TRY(ArgumentSpec arg, read_argument_spec(source.get<user_output>().arg, context));
      return OutputSpec{.kind = OutputKind::user_output, .arg = std::move(arg)};
    }
    case loss_output:
      return make_output(OutputKind::loss_output, source.get<loss_output>().arg.name);
    case buffer_mutation: {
      auto& spec = source.get<buffer_mutation>();
      return make_output(OutputKind::buffer_mutation, spec.arg.name, spec.buffer_name);
    }
    case parameter_mutation: {
      auto& spec = source.get<parameter_mutation>();
      return make_output(OutputKind::parameter_mutation, spec.arg.name, spec.parameter_name);
    }
    case gradient_to_parameter: {
      auto& spec = source.get<gradient_to_parameter>();
      return make_output(OutputKind::gradient_to_parameter, spec.arg.name, spec.parameter_name);
    }
    case gradient_to_user_input: {
      auto& spec = source.get<gradient_to_user_input>();
      return make_output(OutputKind::gradient_to_user_input, spec.arg.name, spec.user_input_name);
    }
    case user_input_mutation: {
      auto& spec = source.get<user_input_mutation>();
      return make_output(OutputKind::user_input_mutation, spec.arg.name, spec.user_input_name);
    }
    case token:
      return OutputSpec{.kind = OutputKind::token,
                        .arg = {.kind = Kind::token, .name = source.get<token>().arg.name}};
    case unknown:
      break;
  }
  return unknown_spec(source.get<unknown>(), context);
}

// A dictionary in version 1's signature, indexed for the lookups of inputs and outputs.
class NameTable {
 public:
  explicit NameTable(const schema::Dict<std::string>& names) {
    for (const auto& [name, target] : names) targets_.emplace(name, &target);
  }
  // Null for constants and for unknown names.
  const std::string* find(const ArgumentSpec& arg) const {
    const auto found = arg.kind == Kind::tensor ? targets_.find(arg.name) : targets_.end();
    return found == targets_.end() ? nullptr : found->second;
  }
  size_t size() const { return targets_.size(); }

 private:
  TextMap<std::string_view, const std::string*> targets_;
};

// Reproduces the order of graph_signature.py, _sig_to_specs: mutations, then user outputs, then
// gradients.
class OutputSpecs {
 public:
  explicit OutputSpecs(const schema::GraphSignatureV1& source)
      : mutations_(source.buffers_to_mutate),
        parameters_(source.backward_signature ? source.backward_signature->gradients_to_parameters
                                              : none_),
        inputs_(source.backward_signature ? source.backward_signature->gradients_to_user_inputs
                                          : none_),
        loss_(source.backward_signature ? &source.backward_signature->loss_output : nullptr) {}

  OutputSpec make(ArgumentSpec arg, size_t index) const {
    OutputSpec spec;
    const std::string* target = nullptr;
    if (index < mutations_.size() && (target = mutations_.find(arg))) {
      spec.kind = OutputKind::buffer_mutation;
    } else if ((target = parameters_.find(arg))) {
      spec.kind = OutputKind::gradient_to_parameter;
    } else if ((target = inputs_.find(arg))) {
      spec.kind = OutputKind::gradient_to_user_input;
    } else if (loss_ != nullptr && arg.name == *loss_) {
      spec.kind = OutputKind::loss_output;
    }
    if (target != nullptr) spec.target = *target;
    spec.arg = std::move(arg);
    return spec;
  }

 private:
  const schema::Dict<std::string> none_;
  NameTable mutations_, parameters_, inputs_;
  const std::string* loss_;
};

}  // namespace

Result<GraphSignature> read_signature(schema::GraphSignature& source, ReadContext& context) {
  GraphSignature signature;
  for (size_t i = 0; i < source.input_specs.size(); ++i) {
    const auto step = context.item("input_specs", i);
    PT2_TRY(InputSpec spec, read_input_spec(source.input_specs[i], context));
    signature.input_specs.push_back(std::move(spec));
  }
  for (size_t i = 0; i < source.output_specs.size(); ++i) {
    const auto step = context.item("output_specs", i);
    PT2_TRY(OutputSpec spec, read_output_spec(source.output_specs[i], context));
    signature.output_specs.push_back(std::move(spec));
  }
  return signature;
}

GraphSignature read_signature_v1(const schema::GraphSignatureV1& source, const Graph& graph,
                                 const Constants& constants) {
  const NameTable parameters(source.inputs_to_parameters), buffers(source.inputs_to_buffers),
      lifted(constants);
  GraphSignature signature;
  for (const Argument& input : graph.inputs()) {
    ArgumentSpec arg = spec_of(graph, input);
    if (const std::string* parameter = parameters.find(arg)) {
      signature.input_specs.push_back(make_input(InputKind::parameter, std::move(arg), *parameter));
    } else if (const std::string* buffer = buffers.find(arg)) {
      signature.input_specs.push_back(make_input(InputKind::buffer, std::move(arg), *buffer));
      signature.input_specs.back().persistent = true;
    } else if (lifted.find(arg) != nullptr) {
      std::string target = arg.name;
      signature.input_specs.push_back(
          make_input(InputKind::constant_tensor, std::move(arg), std::move(target)));
    } else {
      signature.input_specs.push_back({.kind = InputKind::user_input, .arg = std::move(arg)});
    }
  }
  const OutputSpecs outputs(source);
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    signature.output_specs.push_back(outputs.make(spec_of(graph, graph.outputs()[i]), i));
  }
  return signature;
}

}  // namespace pt2
