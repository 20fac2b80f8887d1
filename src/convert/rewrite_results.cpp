// Rewrites constants among the results of a program.
#include "convert/converter.h"
#include "convert/operator_blockers.h"
#include "convert/operator_history.h"
#include "ir/node_origins.h"

namespace pt2 {
namespace {

// A call on constants that Python evaluates to the constant itself, with the same type.
struct Computation {
  std::string_view target;
  std::string_view name;  // as torch.fx calls the node
  std::vector<NamedArgument> inputs;
};

NamedArgument input(std::string name, Argument argument) {
  return {.name = std::move(name), .arg = std::move(argument)};
}

std::optional<Computation> computation_of(const Argument& constant) {
  if (const auto* flag = constant.get_if<bool>())
    return Computation{
        "torch.sym_ite", "sym_ite", {input("b", *flag), input("t", true), input("f", false)}};
  if (const auto* number = constant.get_if<int64_t>())
    return Computation{"_operator.add", "add", {input("a", *number), input("b", int64_t{0})}};
  if (const auto* number = constant.get_if<double>())
    return Computation{"_operator.mul", "mul", {input("a", *number), input("b", 1.0)}};
  return std::nullopt;
}

bool has(const Release& release, std::string_view target) {
  const Lifetime* lifetime = find_operator_lifetime(target);
  return lifetime == nullptr || lifetime->includes(release.number);
}

// The value is recorded as a symbolic int whatever its type: readers accept no other symbolic
// number among the results, and only ask the node for its value.
ValueId add_computation(Graph& graph, const Computation& computation) {
  const auto* flag = computation.inputs[0].arg.get_if<bool>();
  const auto* number = computation.inputs[0].arg.get_if<int64_t>();
  GraphValue value{.name = graph.unused_name(computation.name),
                   .meta = SymInt(number ? *number
                                  : flag ? int64_t{*flag}
                                         : int64_t{0})};
  const ValueId id = graph.add_value(std::move(value)).value();
  graph.add_node({.target = std::string(computation.target),
                  .inputs = computation.inputs,
                  .outputs = {Argument(id)},
                  .metadata = root_metadata(graph)});
  return id;
}

}  // namespace

Result<void> rewrite_constant_results(Converter& converter) {
  const Release& release = *converter.target.release;
  Graph& graph = converter.program.graph;
  std::vector<OutputSpec>& specs = converter.program.signature.output_specs;
  std::vector<Argument> outputs(graph.outputs().begin(), graph.outputs().end());
  if (specs.size() != outputs.size()) return {};
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto constant = constant_result(outputs[i]);
    if (!constant || release.number >= constant->first) continue;
    const std::optional<Computation> computation = computation_of(outputs[i]);
    if (!computation || !has(release, computation->target)) continue;
    const ValueId value = add_computation(graph, *computation);
    specs[i].arg = {.kind = ArgumentSpec::Kind::sym_int, .name = graph.value(value).name};
    outputs[i] = Argument(value);
    converter.changed = true;
  }
  if (converter.changed) graph.set_outputs(std::move(outputs));
  return {};
}

}  // namespace pt2
