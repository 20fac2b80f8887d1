// Checks for any graph, whatever its operators: names, tables, the form of calls and results.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/program_checks.h"
#include "base/hash/text_hash.h"
#include "base/text.h"
#include "ir/graph_place.h"
#include "ir/target.h"
#include "schema/path.h"

namespace pt2 {
namespace {

std::string_view table_name(ValueKind kind) {
  switch (kind) {
    case ValueKind::tensor:
      return "tensor_values";
    case ValueKind::sym_int:
      return "sym_int_values";
    case ValueKind::sym_float:
      return "sym_float_values";
    case ValueKind::sym_bool:
      return "sym_bool_values";
    case ValueKind::custom_obj:
      return "custom_obj_values";
  }
  return "";
}

bool is_number(const Argument& argument) {
  return argument.is<None>() || argument.is<ValueId>() || argument.is<bool>() ||
         argument.is<int64_t>() || argument.is<double>();
}

class GraphChecks {
 public:
  GraphChecks(const PlacedGraph& placed, const ProgramPlace& place, Diagnostics& findings)
      : graph_(*placed.graph), placed_(placed), place_(place), findings_(findings) {}

  void run() {
    node_names_.reserve(graph_.nodes().size());
    for (const Argument& input : graph_.inputs())
      if (const auto* id = input.get_if<ValueId>()) fx_names_.insert(graph_.value(*id).name);
    for (ValueId id : graph_.values()) check_value(id);
    size_t position = 0;
    for (NodeId id : graph_.nodes()) check_node(graph_.node(id), position++);
    check_ends();
  }

 private:
  void add(Rule rule, const std::string& where, std::string text) {
    findings_.add(rule, place_.program + where, std::move(text));
  }

  void check_value(ValueId id) {
    const GraphValue& value = graph_.value(id);
    const auto where = [&] {
      std::string text = fmt::format("{}.{}", placed_.place, table_name(value.kind()));
      schema::append_key_step(text, value.name);
      return text;
    };
    if (value.name.empty()) add(Rule::empty_name, where(), "found a value without a name");
    // torch/fx/graph.py, _Namespace.create_name, keeps such names.
    if (!value.name.empty() && !is_word(value.name))
      add(Rule::value_name, where(), fmt::format("'{}' is not a Python identifier", value.name));
    if (value.definition.by == Definition::By::nothing && graph_.uses(id).empty())
      add(Rule::unused_value_entry, where(),
          fmt::format("'{}' is neither an input nor the result of a node", value.name));
    const TensorMeta* meta = value.tensor();
    // Number 0: schema 1 records nothing about constants.
    if (meta == nullptr || meta->layout != Layout::strided || meta->dtype.number == 0) return;
    if (meta->strides.size() != meta->sizes.size())
      add(Rule::stride_count, where(),
          fmt::format("found {} strides for {} sizes", meta->strides.size(), meta->sizes.size()));
  }

  void check_node(const Node& node, size_t position) {
    const TargetForm form = target_form(node.target);
    check_arguments(node, form, position);
    check_own_name(node, position);
    if (node.name && !node.name->empty() && !node_names_.insert(*node.name).second)
      add(Rule::duplicate_node_name, placed_.node_place(position) + ".name",
          fmt::format("another node is called '{}'", *node.name));
    if (form == TargetForm::higher_order && node.is_hop_single_tensor_return.value_or(false) &&
        node.outputs.size() != 1)
      add(Rule::hop_single_tensor_return,
          placed_.node_place(position) + ".is_hop_single_tensor_return",
          fmt::format("found {} outputs, expected 1", node.outputs.size()));
  }

  // torch/_export/serde/serialize.py, deserialize_outputs: a node with one value takes the value's
  // name; any other node keeps its own name beside those of its values. If the name is already
  // taken, torch/fx/graph.py, _Namespace.create_name, chooses another.
  void check_own_name(const Node& node, size_t position) {
    const auto* single = node.outputs.size() == 1 ? node.outputs[0].get_if<ValueId>() : nullptr;
    std::string_view name;
    if (single != nullptr) name = graph_.value(*single).name;
    if (node.name && !node.name->empty()) name = *node.name;
    if (name.empty() || !fx_names_.insert(name).second || single != nullptr) return;
    const bool is_none = node.outputs.size() == 1 && node.outputs[0].is<None>();
    if (!is_none && graph_.find_value(name))
      add(Rule::node_name_is_value, placed_.node_place(position) + ".name",
          fmt::format("found '{}', which is a value", name));
  }

  void check_arguments(const Node& node, TargetForm form, size_t position) {
    bool keyword = false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const NamedArgument& input = node.inputs[i];
      const auto where = [&] { return placed_.input_place(position, i); };
      if (input.name.empty() && form == TargetForm::overload && !place_.is_draft)
        add(Rule::unnamed_argument, where(), "found an argument without a name");
      if (is_repeated(node.inputs, i))
        add(Rule::duplicate_argument, where(), fmt::format("'{}' is given twice", input.name));
      if (keyword && input.kind == ArgumentKind::positional)
        add(Rule::positional_after_keyword, where(),
            fmt::format("the argument '{}' is positional and stands after a keyword argument",
                        input.name));
      keyword = keyword || input.kind == ArgumentKind::keyword;
      for_each_subgraph(input.arg, [&](SubgraphId) {
        if (form == TargetForm::overload || form == TargetForm::function)
          add(Rule::graph_argument, where(), fmt::format("'{}' takes no graphs", node.target));
      });
    }
  }

  // True if an earlier argument has the same name. Calls usually have few arguments, which are
  // compared; the many arguments of a hostile file are hashed.
  bool is_repeated(const std::vector<NamedArgument>& inputs, size_t index) {
    const std::string& name = inputs[index].name;
    if (name.empty()) return false;
    constexpr size_t kFew = 16;
    if (inputs.size() <= kFew)
      return std::any_of(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(index),
                         [&](const NamedArgument& other) { return other.name == name; });
    if (index == 0 || names_of_ != &inputs) names_.clear();
    names_of_ = &inputs;
    return !names_.insert(name).second;
  }

  void check_ends() {
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      const Argument& input = graph_.inputs()[i];
      if (!is_number(input) && !input.is<std::string>())
        add(Rule::graph_input, fmt::format("{}.inputs[{}]", placed_.place, i),
            "found neither a value nor a number, string or None");
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      if (!is_number(graph_.outputs()[i]))
        add(Rule::graph_output, fmt::format("{}.outputs[{}]", placed_.place, i),
            "found neither a value nor a number or None");
    }
    if (graph_.is_single_tensor_return && graph_.outputs().size() != 1)
      add(Rule::single_tensor_return, placed_.place + ".is_single_tensor_return",
          fmt::format("found {} outputs, expected 1", graph_.outputs().size()));
  }

  const Graph& graph_;
  const PlacedGraph& placed_;
  const ProgramPlace& place_;
  Diagnostics& findings_;
  TextSet<std::string_view> node_names_;
  TextSet<std::string_view> fx_names_;  // inputs, and nodes up to the current one
  TextSet<std::string_view> names_;
  const std::vector<NamedArgument>* names_of_ = nullptr;
};

}  // namespace

void check_graphs(const Program& program, const ProgramPlace& place, Diagnostics& findings) {
  for (const PlacedGraph& placed : placed_graphs(program))
    GraphChecks(placed, place, findings).run();
}

}  // namespace pt2
