#include "run/subclass_parameters.h"

#include <algorithm>

#include "ir/graph_place.h"
#include "lower/new_nodes.h"
#include "run/inner_tensor.h"

namespace pt2::run {
namespace {

bool is_subclass(const PayloadTensor* payload) {
  return payload != nullptr && !payload->missing.empty() && !payload->class_name.empty();
}

class Unwrapper {
 public:
  Unwrapper(const Program& program, const Payloads& payloads)
      : out_{.program = program, .inner = {}}, payloads_(payloads) {}

  Result<UnwrappedProgram> run() {
    GraphSignature& signature = out_.program.signature;
    const std::vector<InputSpec> specs = std::move(signature.input_specs);
    signature.input_specs.clear();
    const std::vector<Argument> arguments(graph().inputs().begin(), graph().inputs().end());
    for (size_t i = 0; i < specs.size(); ++i) {
      const PayloadTensor* payload = payloads_.bound_to(specs[i]);
      const auto* value = arguments[i].get_if<ValueId>();
      if (!is_subclass(payload) || value == nullptr) {
        signature.input_specs.push_back(specs[i]);
        inputs_.push_back(arguments[i]);
        continue;
      }
      PT2_TRY_VOID(unwrap(*value, specs[i], *payload));
      unwrapped_.push_back(*value);
    }
    graph().set_inputs(std::move(inputs_));
    for (const ValueId value : unwrapped_) PT2_TRY_VOID(graph().erase_value(value));
    return std::move(out_);
  }

 private:
  Graph& graph() { return out_.program.graph; }

  Result<void> unwrap(ValueId subclass, const InputSpec& spec, const PayloadTensor& payload) {
    std::map<std::string, ValueId> taken;
    std::vector<Use> uses;
    for (const Use& use : graph().uses(subclass)) uses.push_back(use);
    for (const auto& [user, index] : uses) {
      const Node* node = user ? &graph().node(*user) : nullptr;
      if (node == nullptr || node->target != kAccessInnerTensor || node->inputs.size() != 2 ||
          index != 0)
        return wrong_use(payload, node);
      const auto* attribute = node->inputs[1].arg.get_if<std::string>();
      const ValueId* result = find_only_output(*node);
      if (attribute == nullptr || result == nullptr) return wrong_use(payload, node);
      const auto found = std::ranges::find(payload.part_names, *attribute);
      if (found == payload.part_names.end())
        return Error{ErrorCode::invalid,
                     "the tensor '" + payload.name + "', a " + payload.class_name +
                         ", has no inner tensor '" + *attribute + "'",
                     node_place(graph(), *node)};
      auto [place, is_new] = taken.try_emplace(*attribute);
      if (is_new) {
        const auto part = static_cast<size_t>(found - payload.part_names.begin());
        PT2_TRY(place->second,
                add_input(spec, *attribute, payload.parts[part], graph().value(*result)));
      }
      const ValueId old = *result;
      graph().replace_all_uses(old, place->second);
      PT2_TRY_VOID(graph().erase_node(*user));
    }
    return {};
  }

  Result<ValueId> add_input(const InputSpec& spec, const std::string& attribute, const Tensor& part,
                            const GraphValue& like) {
    const std::string name = graph().unused_name(spec.arg.name + "_" + attribute);
    PT2_TRY(const ValueId value, graph().add_value({.name = name, .meta = like.meta}));
    inputs_.emplace_back(value);
    InputSpec inner = spec;
    inner.arg.name = name;
    inner.target = spec.target.value_or(spec.arg.name) + "." + attribute;
    out_.inner.insert_or_assign(*inner.target, part);
    out_.program.signature.input_specs.push_back(std::move(inner));
    return value;
  }

  Error wrong_use(const PayloadTensor& payload, const Node* node) {
    return {ErrorCode::unsupported,
            "the tensor '" + payload.name + "' is a " + payload.class_name + " and is used by " +
                (node == nullptr ? std::string("the outputs") : node_place(graph(), *node)) +
                "; only export.access_subclass_inner_tensor takes it here: export what "
                "run_decompositions() returns",
            ""};
  }

  UnwrappedProgram out_;
  const Payloads& payloads_;
  std::vector<Argument> inputs_;
  std::vector<ValueId> unwrapped_;
};

}  // namespace

Result<std::shared_ptr<const UnwrappedProgram>> unwrap_subclasses(const Program& program,
                                                                  const Payloads& payloads) {
  const auto& specs = program.signature.input_specs;
  const bool has_any = std::ranges::any_of(
      specs, [&](const InputSpec& spec) { return is_subclass(payloads.bound_to(spec)); });
  if (!has_any || specs.size() != program.graph.inputs().size())
    return std::shared_ptr<const UnwrappedProgram>();
  PT2_TRY(UnwrappedProgram unwrapped, Unwrapper(program, payloads).run());
  return std::make_shared<const UnwrappedProgram>(std::move(unwrapped));
}

}  // namespace pt2::run
