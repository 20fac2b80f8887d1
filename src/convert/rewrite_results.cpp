// Rewrites constants and symbolic numbers among the results of a program.
#include <map>

#include "convert/converter.h"
#include "convert/operator_blockers.h"
#include "convert/operator_history.h"
#include "ir/node_origins.h"
#include "ir/target.h"
#include "ir/walk.h"

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
SymInt recorded_value(const Argument& constant) {
  if (const auto* flag = constant.get_if<bool>()) return SymInt(int64_t{*flag});
  const auto* number = constant.get_if<int64_t>();
  return SymInt(number ? *number : int64_t{0});
}

ValueId add_computation(Graph& graph, const Computation& computation, SymInt recorded,
                        const Metadata& metadata) {
  GraphValue value{.name = graph.unused_name(computation.name), .meta = std::move(recorded)};
  const ValueId id = graph.add_value(std::move(value)).value();
  graph.add_node({.target = std::string(computation.target),
                  .inputs = computation.inputs,
                  .outputs = {Argument(id)},
                  .metadata = metadata});
  return id;
}

// True for a symbolic int that is all that an operator gives.
bool is_number_of_operator(const Graph& graph, ValueId id) {
  const GraphValue& value = graph.value(id);
  const Node* node = value.kind() == ValueKind::sym_int ? find_maker(graph, id) : nullptr;
  return node != nullptr && node->outputs.size() == 1 &&
         target_form(node->target) == TargetForm::overload;
}

}  // namespace

Result<void> rewrite_constant_results(Converter& converter) {
  const Release& release = *converter.target.release;
  Graph& graph = converter.program.graph;
  std::vector<OutputSpec>& specs = converter.program.signature.output_specs;
  std::vector<Argument> outputs(graph.outputs().begin(), graph.outputs().end());
  if (specs.size() != outputs.size()) return {};
  const Metadata metadata = root_metadata(graph);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto constant = constant_result(outputs[i]);
    if (!constant || release.number >= constant->first) continue;
    const std::optional<Computation> computation = computation_of(outputs[i]);
    if (!computation || !has(release, computation->target)) continue;
    const ValueId value =
        add_computation(graph, *computation, recorded_value(outputs[i]), metadata);
    specs[i].arg = {.kind = ArgumentSpec::Kind::sym_int, .name = graph.value(value).name};
    outputs[i] = Argument(value);
    converter.changed = true;
  }
  if (converter.changed) graph.set_outputs(std::move(outputs));
  return {};
}

Result<void> rewrite_symbolic_results(Converter& converter) {
  constexpr int kFirstThatCompares = 203, kLastWithOwnNames = 204;
  const int release = converter.target.release->number;
  if (release < kFirstThatCompares || release > kLastWithOwnNames ||
      release == converter.source.number)
    return {};
  Graph& graph = converter.program.graph;
  std::vector<OutputSpec>& specs = converter.program.signature.output_specs;
  std::vector<Argument> outputs(graph.outputs().begin(), graph.outputs().end());
  if (specs.size() != outputs.size()) return {};
  const Metadata metadata = root_metadata(graph);
  std::map<ValueId, ValueId> sums;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto* id = outputs[i].get_if<ValueId>();
    if (id == nullptr || !is_number_of_operator(graph, *id)) continue;
    const auto [sum, is_new] = sums.try_emplace(*id);
    if (is_new)
      sum->second = add_computation(
          graph, {"_operator.add", "add", {input("a", *id), input("b", int64_t{0})}},
          std::get<SymInt>(graph.value(*id).meta), metadata);
    specs[i].arg.name = graph.value(sum->second).name;
    outputs[i] = Argument(sum->second);
    converter.changed = true;
  }
  if (converter.changed) graph.set_outputs(std::move(outputs));
  return {};
}

}  // namespace pt2
