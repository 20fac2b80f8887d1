// Programs whose operators write to memory, for releases that have the dialect ATEN alone.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "convert/converter.h"
#include "ir/graph_place.h"
#include "lower/functional/functionalize.h"

namespace pt2 {
namespace {

std::string_view refusal(InputKind kind) {
  switch (kind) {
    case InputKind::user_input:
    case InputKind::parameter:
    case InputKind::buffer:
      return "";
    case InputKind::constant_tensor:
      return "a constant";
    case InputKind::custom_obj:
    case InputKind::token:
      return "what is no tensor";
  }
  return "";
}

// What may not be written to, by its value.
Result<std::unordered_map<ValueId, std::string>> refused_inputs(const Converter& converter) {
  const Program& program = converter.program;
  PT2_TRY(const std::shared_ptr<const Payloads> payloads, converter.payloads());
  std::unordered_map<ValueId, std::string> refused;
  std::map<size_t, ValueId> first_of_storage;
  for (const InputSpec& spec : program.signature.input_specs) {
    const auto id = program.graph.find_value(spec.arg.name);
    if (!id) continue;
    if (const std::string_view reason = refusal(spec.kind); !reason.empty()) refused[*id] = reason;
    const PayloadTensor* payload = payloads->bound_to(spec);
    if (payload == nullptr || !payload->missing.empty()) continue;
    const auto [first, is_first] = first_of_storage.try_emplace(payload->storage_group, *id);
    if (is_first || first->second == *id) continue;
    for (const ValueId each : {first->second, *id}) refused[each] = "memory that two inputs share";
  }
  return refused;
}

OutputKind kind_of_mutation(InputKind kind) {
  if (kind == InputKind::buffer) return OutputKind::buffer_mutation;
  return kind == InputKind::parameter ? OutputKind::parameter_mutation
                                      : OutputKind::user_input_mutation;
}

Metadata metadata_of_definition(const Graph& graph, ValueId id) {
  const Definition& definition = graph.value(id).definition;
  return definition.by == Definition::By::node ? graph.node(definition.node).metadata : Metadata{};
}

// The names of results that are other values now.
void rename_results(Program& program) {
  std::vector<OutputSpec>& specs = program.signature.output_specs;
  const auto outputs = program.graph.outputs();
  for (size_t i = 0; i < std::min(specs.size(), outputs.size()); ++i)
    if (const auto* id = outputs[i].get_if<ValueId>())
      specs[i].arg.name = program.graph.value(*id).name;
}

// Readers take a result by its name for the one that is written back: what a caller gets has
// another (torch/_export/exported_program.py, _unlift).
void keep_apart(Program& program, const std::vector<FunctionalGraph::Mutation>& mutations) {
  Graph& graph = program.graph;
  std::set<ValueId> written;
  for (const FunctionalGraph::Mutation& each : mutations) written.insert(each.value);
  std::map<ValueId, ValueId> copies;
  std::vector<Argument> outputs(graph.outputs().begin(), graph.outputs().end());
  for (Argument& output : outputs) {
    auto* id = output.get_if<ValueId>();
    if (id == nullptr || !written.contains(*id)) continue;
    const auto [copy, is_new] = copies.try_emplace(*id);
    if (is_new) {
      const GraphValue& value = graph.value(*id);
      copy->second =
          graph.add_value({.name = graph.unused_name(value.name), .meta = value.meta}).value();
      graph.add_node({.target = "torch.ops.aten.clone.default",
                      .inputs = {{.name = "self", .arg = *id}},
                      .outputs = {Argument(copy->second)},
                      .metadata = metadata_of_definition(graph, *id)});
    }
    *id = copy->second;
  }
  graph.set_outputs(std::move(outputs));
}

// What is a result already is written after everything else.
bool is_there(const GraphSignature& signature, const OutputSpec& written) {
  return std::ranges::any_of(signature.output_specs, [&](const OutputSpec& each) {
    return each.kind == written.kind && each.target == written.target;
  });
}

// Results that are written back come first, in the order of the inputs.
void add_mutations(Program& program, const std::vector<FunctionalGraph::Mutation>& mutations) {
  std::vector<OutputSpec> specs;
  std::vector<Argument> outputs;
  for (const FunctionalGraph::Mutation& each : mutations) {
    const std::string& name = program.graph.value(each.input).name;
    const auto spec = std::ranges::find(program.signature.input_specs, name,
                                        [](const InputSpec& input) { return input.arg.name; });
    if (spec == program.signature.input_specs.end()) continue;
    const bool is_user_input = spec->kind == InputKind::user_input;
    OutputSpec written{.kind = kind_of_mutation(spec->kind),
                       .arg = {.name = program.graph.value(each.value).name},
                       .target = is_user_input ? name : spec->target};
    if (is_there(program.signature, written)) continue;
    specs.push_back(std::move(written));
    outputs.emplace_back(each.value);
  }
  std::vector<OutputSpec>& all = program.signature.output_specs;
  all.insert(all.begin(), specs.begin(), specs.end());
  outputs.insert(outputs.end(), program.graph.outputs().begin(), program.graph.outputs().end());
  program.graph.set_outputs(std::move(outputs));
}

}  // namespace

Result<void> rewrite_functional_form(Converter& converter) {
  constexpr int kFirstWithTraining = 205;
  Program& program = converter.program;
  if (converter.target.release->number >= kFirstWithTraining || is_functional(program.graph))
    return {};
  PT2_TRY(const auto refused, refused_inputs(converter));
  const std::vector<PlacedGraph> places = placed_graphs(program);
  const FunctionalGraph functional = functionalize(program.graph, [&](ValueId id) {
    const auto found = refused.find(id);
    return found != refused.end() ? found->second : std::string();
  });
  for (const UnfunctionalNode& each : functional.failures) {
    const auto place = std::ranges::find(places, each.graph, &PlacedGraph::graph);
    converter.block({.kind = BlockerKind::dialect,
                     .text = each.text,
                     .where = place->node_place(each.position),
                     .node = each.node,
                     .first = find_release("2.5")});
  }
  keep_apart(program, functional.mutations);
  rename_results(program);
  add_mutations(program, functional.mutations);
  converter.changed = true;
  return {};
}

}  // namespace pt2
