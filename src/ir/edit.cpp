#include "pt2/ir/edit.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/hash/text_hash.h"
#include "ir/walk.h"

namespace pt2 {
namespace {

void rename_spec(ArgumentSpec& spec, std::string_view old_name, const std::string& new_name) {
  if (!spec.is_constant() && spec.name == old_name) spec.name = new_name;
}

// Calls `visit(std::string&)` for each name of a value of the graph in the signature and in
// module_call_graph.
template <class Visit>
void for_each_value_name(Program& program, Visit&& visit) {
  const auto visit_spec = [&](ArgumentSpec& spec) {
    if (!spec.is_constant()) visit(spec.name);
  };
  for (InputSpec& spec : program.signature.input_specs) visit_spec(spec.arg);
  for (OutputSpec& spec : program.signature.output_specs) {
    visit_spec(spec.arg);
    const bool targets_input = spec.kind == OutputKind::user_input_mutation ||
                               spec.kind == OutputKind::gradient_to_user_input;
    if (targets_input && spec.target) visit(*spec.target);
  }
  for (ModuleCallEntry& entry : program.module_call_graph) {
    if (!entry.signature) continue;
    for (ArgumentSpec& spec : entry.signature->inputs) visit_spec(spec);
    for (ArgumentSpec& spec : entry.signature->outputs) visit_spec(spec);
  }
}

void rename_in_signature(Program& program, const TextMap<std::string, std::string>& new_names) {
  for_each_value_name(program, [&](std::string& name) {
    if (const auto found = new_names.find(name); found != new_names.end()) name = found->second;
  });
}

class Extraction {
 public:
  Extraction(const Graph& graph, std::span<const NodeId> nodes)
      : graph_(graph), taken_(graph.node_count()), ids_(graph.value_count()) {
    for (NodeId id : nodes) {
      PT2_CHECK(graph.contains(id));
      taken_[static_cast<size_t>(id)] = true;
    }
  }

  Result<ExtractedGraph> run() {
    PT2_TRY_VOID(check_convex());
    for (NodeId id : graph_.nodes())
      if (is_taken(id)) PT2_TRY_VOID(add_node(id));
    for (ValueId output : out_.outputs) out_.graph.add_output(Argument(new_id(output)));
    return std::move(out_);
  }

 private:
  bool is_taken(NodeId id) const { return taken_[static_cast<size_t>(id)]; }
  bool is_defined_inside(ValueId id) const {
    const Definition& definition = graph_.value(id).definition;
    return definition.by == Definition::By::node && is_taken(definition.node);
  }
  ValueId new_id(ValueId id) const { return *ids_[static_cast<size_t>(id)]; }

  // Fails if a node outside the selection lies between two selected nodes.
  Result<void> check_convex() const {
    std::vector<bool> depends(graph_.value_count());
    for (NodeId id : graph_.nodes()) {
      const Node& node = graph_.node(id);
      bool tainted = is_taken(id);
      for (const NamedArgument& input : node.inputs) {
        Result<void> checked{};
        for_each_value(input.arg, [&](ValueId value) {
          const bool from_inside = depends[static_cast<size_t>(value)];
          tainted |= from_inside;
          if (checked && is_taken(id) && from_inside && !is_defined_inside(value)) {
            checked = Error{ErrorCode::invalid,
                            fmt::format("'{}' lies between the nodes: it is computed from some and "
                                        "used by others; take its node too",
                                        graph_.value(value).name),
                            {}};
          }
        });
        PT2_TRY_VOID(std::move(checked));
      }
      for (const Argument& output : node.outputs)
        for_each_value(output,
                       [&](ValueId value) { depends[static_cast<size_t>(value)] = tainted; });
    }
    return {};
  }

  void add_value(ValueId id) {
    const GraphValue& value = graph_.value(id);
    ids_[static_cast<size_t>(id)] =
        out_.graph.add_value({.name = value.name, .meta = value.meta}).value();
  }

  Result<void> add_node(NodeId id) {
    Node copy = graph_.node(id);
    for (NamedArgument& input : copy.inputs) {
      for_each_value(input.arg, [&](ValueId value) {
        if (ids_[static_cast<size_t>(value)]) return;
        add_value(value);
        out_.inputs.push_back(value);
        out_.graph.add_input(Argument(new_id(value)));
      });
      input.arg = translated(std::move(input.arg));
    }
    for (Argument& output : copy.outputs) {
      for_each_value(output, [&](ValueId value) {
        add_value(value);
        for (const Use use : graph_.uses(value)) {
          if (use.node && is_taken(*use.node)) continue;
          out_.outputs.push_back(value);
          break;
        }
      });
      output = translated(std::move(output));
    }
    out_.graph.add_node(std::move(copy));
    return {};
  }

  Argument translated(Argument argument) {
    for_each_leaf(argument, [&](Argument& leaf) {
      if (auto* id = leaf.get_if<ValueId>())
        *id = new_id(*id);
      else if (auto* subgraph = leaf.get_if<SubgraphId>())
        *subgraph = out_.graph.add_subgraph(graph_.subgraph(*subgraph));
    });
    return argument;
  }

  const Graph& graph_;
  std::vector<bool> taken_;
  std::vector<std::optional<ValueId>> ids_;
  ExtractedGraph out_;
};

}  // namespace

Result<void> rename_value(Program& program, ValueId id, std::string name) {
  const std::string old_name = program.graph.value(id).name;
  PT2_TRY_VOID(program.graph.rename_value(id, name));
  for_each_value_name(program, [&](std::string& each) {
    if (each == old_name) each = name;
  });
  return {};
}

bool rename_inputs(Program& program,
                   const std::function<std::optional<std::string>(std::string_view)>& new_name) {
  Graph& graph = program.graph;
  const std::vector<Argument> inputs(graph.inputs().begin(), graph.inputs().end());
  TextMap<std::string, std::string> new_names;
  for (const Argument& input : inputs) {
    const auto* id = input.get_if<ValueId>();
    const std::string old_name = id != nullptr ? graph.value(*id).name : std::string();
    const auto name = id != nullptr ? new_name(old_name) : std::nullopt;
    if (!name) continue;
    graph.rename_value(*id, graph.unused_name(*name)).value();
    new_names.emplace(old_name, graph.value(*id).name);
  }
  if (new_names.empty()) return false;
  rename_in_signature(program, new_names);
  return true;
}

bool leave_names_to_constants(Program& program) {
  TextSet<std::string_view> constants;
  for (const InputSpec& spec : program.signature.input_specs)
    if (spec.arg.is_constant()) constants.insert(spec.arg.name);
  TextMap<std::string, std::string> new_names;
  for (const InputSpec& spec : program.signature.input_specs) {
    const auto id = spec.arg.is_constant() ? program.graph.find_value(spec.arg.name) : std::nullopt;
    if (!id) continue;
    std::string& name = new_names[spec.arg.name];
    do name = program.graph.unused_name(spec.arg.name);
    while (constants.contains(name));
    program.graph.rename_value(*id, name).value();
  }
  if (new_names.empty()) return false;
  rename_in_signature(program, new_names);
  return true;
}

Result<void> erase_node(Program& program, NodeId id) {
  std::vector<std::string> names;
  for (const Argument& output : program.graph.node(id).outputs)
    for_each_value(output,
                   [&](ValueId value) { names.push_back(program.graph.value(value).name); });
  PT2_TRY_VOID(program.graph.erase_node(id));
  const auto is_erased = [&](const ArgumentSpec& spec) {
    return std::ranges::find(names, spec.name) != names.end();
  };
  for (ModuleCallEntry& entry : program.module_call_graph)
    if (entry.signature && (std::ranges::any_of(entry.signature->inputs, is_erased) ||
                            std::ranges::any_of(entry.signature->outputs, is_erased)))
      entry.signature.reset();
  return {};
}

void replace_all_uses(Program& program, ValueId value, ValueId replacement) {
  std::vector<uint32_t> outputs;
  for (const Use use : program.graph.uses(value))
    if (!use.node) outputs.push_back(use.index);
  program.graph.replace_all_uses(value, replacement);
  auto& specs = program.signature.output_specs;
  for (uint32_t index : outputs) {
    if (index < specs.size())
      rename_spec(specs[index].arg, program.graph.value(value).name,
                  program.graph.value(replacement).name);
  }
}

Result<ExtractedGraph> extract_graph(const Graph& graph, std::span<const NodeId> nodes) {
  return Extraction(graph, nodes).run();
}

}  // namespace pt2
