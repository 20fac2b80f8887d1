// Functionalizes a program: the final value of a written input becomes a result of the graph.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/hash/text_hash.h"
#include "ir/graph_place.h"
#include "ir/version_facts.h"
#include "ir/walk.h"
#include "lower/functional/functionalize.h"
#include "lower/signature.h"
#include "schema/type.h"

namespace pt2 {
namespace {

// True if a file of the schema's version can return the new value of an input.
bool can_return(OutputKind kind, int version) {
  constexpr int kFirstWithSpecs = 200;  // version 1 lists written buffers by name
  if (version < kFirstWithSpecs) return true;
  const auto& cases = schema::type_of<schema::OutputSpec>().members;
  const auto found = std::ranges::find(cases, output_kind_name(kind), &schema::Member::name);
  return found != cases.end() && found->is_in(version);
}

// Why inputs of this kind cannot get new values; empty if they can.
std::string refusal(InputKind kind, const SchemaVersion& version) {
  const std::optional<OutputKind> mutation = mutation_of(kind);
  if (!mutation) return kind == InputKind::constant_tensor ? "a constant" : "what is not a tensor";
  if (can_return(*mutation, version_number(version))) return "";
  return fmt::format("a {}: schema {}.{} has no {}", input_kind_name(kind), version.major,
                     version.minor, output_kind_name(*mutation));
}

Metadata metadata_of_definition(const Graph& graph, ValueId id) {
  const Node* maker = find_maker(graph, id);
  return maker != nullptr ? maker->metadata : Metadata{};
}

// Gives user results that are also written back a copy of their own. Readers identify the result
// that is written back by its name (torch/_export/exported_program.py, _unlift).
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

// Puts the results that are written back first, in the order of the inputs.
void add_mutations(Program& program, const std::vector<FunctionalGraph::Mutation>& mutations) {
  std::vector<OutputSpec> specs;
  std::vector<Argument> outputs;
  TextMap<std::string_view, const InputSpec*> inputs;
  for (const InputSpec& input : program.signature.input_specs)
    inputs.try_emplace(input.arg.name, &input);
  // What the signature already writes back; those writes happen after all others.
  std::set<std::pair<OutputKind, std::optional<std::string>>> there;
  for (const OutputSpec& each : program.signature.output_specs)
    there.emplace(each.kind, each.target);
  for (const FunctionalGraph::Mutation& each : mutations) {
    const std::string& name = program.graph.value(each.input).name;
    const auto found = inputs.find(name);
    if (found == inputs.end()) continue;
    const InputSpec* spec = found->second;
    const std::optional<OutputKind> kind = mutation_of(spec->kind);
    if (!kind) continue;
    const bool is_user_input = spec->kind == InputKind::user_input;
    OutputSpec written{.kind = *kind,
                       .arg = {.name = program.graph.value(each.value).name},
                       .target = is_user_input ? name : spec->target};
    if (there.contains({written.kind, written.target})) continue;
    specs.push_back(std::move(written));
    outputs.emplace_back(each.value);
  }
  std::vector<OutputSpec>& all = program.signature.output_specs;
  all.insert(all.begin(), specs.begin(), specs.end());
  outputs.insert(outputs.end(), program.graph.outputs().begin(), program.graph.outputs().end());
  program.graph.set_outputs(std::move(outputs));
}

}  // namespace

RefuseInput refuse_inputs(
    const Program& program,
    const std::function<std::optional<size_t>(const InputSpec&)>& storage_of) {
  std::unordered_map<ValueId, std::string> refused;
  std::map<size_t, ValueId> first_of_storage;
  for (const InputSpec& spec : program.signature.input_specs) {
    const auto id = program.graph.find_value(spec.arg.name);
    if (!id) continue;
    if (std::string reason = refusal(spec.kind, program.schema_version); !reason.empty())
      refused[*id] = std::move(reason);
    const std::optional<size_t> storage = storage_of ? storage_of(spec) : std::nullopt;
    if (!storage) continue;
    const auto [first, is_first] = first_of_storage.try_emplace(*storage, *id);
    if (is_first || first->second == *id) continue;
    for (const ValueId each : {first->second, *id}) refused[each] = "memory that two inputs share";
  }
  return [refused = std::move(refused)](ValueId id) {
    const auto found = refused.find(id);
    return found != refused.end() ? found->second : std::string();
  };
}

// After a failure the program must not be used.
PassResult functionalize(Program& program, Pipeline& pipeline) {
  PassResult result;
  if (is_functional(program.graph)) return result;
  result.changed = true;
  const std::vector<PlacedGraph> places = placed_graphs(program);
  FunctionalGraph functional = functionalize(program.graph, pipeline.refuse_input, pipeline.budget);
  for (UnfunctionalNode& each : functional.failures) {
    const auto place = std::ranges::find(places, each.graph, &PlacedGraph::graph);
    result.failures.push_back({.where = place->node_place(each.position),
                               .node = std::move(each.node),
                               .text = std::move(each.text)});
  }
  keep_apart(program, functional.mutations);
  rename_results(program);
  add_mutations(program, functional.mutations);
  return result;
}

}  // namespace pt2
