// Checks nested graphs against the operators that run them (torch/_higher_order_ops).
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/program_checks.h"
#include "base/printable.h"
#include "ir/graph_place.h"
#include "ir/higher_order.h"
#include "ir/walk.h"
#include "pt2/ir/type_text.h"

namespace pt2 {
namespace {

// The number of inputs that a graph may have. It is a range, because numbers and strings between
// the operands may be operands or settings of the operator; this differs between releases.
struct Operands {
  size_t least = 0;
  size_t most = 0;
};

Operands count_operands(std::span<const GraphOperand> operands) {
  Operands count{.most = operands.size()};
  for (const GraphOperand& operand : operands)
    if (operand.in_list || operand.argument->is<ValueId>() || operand.argument->is<CustomObject>())
      ++count.least;
  return count;
}

// Returns a range, because writers leave out the None elements of a list.
Operands count_results(const Node& node) {
  Operands count;
  for (const Argument& output : node.outputs) {
    const auto* list = output.get_if<ArgumentList>();
    count.least += list != nullptr ? list->items.size() : 1;
    count.most = list != nullptr ? SIZE_MAX : std::max(count.most, count.least);
  }
  return count;
}

// True if `part` may describe the same tensor as `whole`, or a slice of it. A value without a
// record has no dtype.
bool may_be_part(const TensorMeta& part, const TensorMeta& whole,
                 std::optional<int64_t> sliced_along) {
  return !part.dtype.dtype() || !whole.dtype.dtype() ||
         (part.dtype == whole.dtype && may_have_sizes_of(part, whole, sliced_along));
}

std::string slices_text(std::string_view what, std::optional<int64_t> dim) {
  return dim ? fmt::format(" ({} along dim {})", what, *dim) : std::string();
}

class HigherOrderChecks {
 public:
  HigherOrderChecks(const Program& program, const PlacedGraph& placed, const ProgramPlace& place,
                    Diagnostics& findings)
      : program_(program),
        graph_(*placed.graph),
        placed_(placed),
        place_(place),
        findings_(findings) {}

  void run() {
    size_t position = 0;
    for (NodeId id : graph_.nodes()) check_node(graph_.node(id), position++);
  }

 private:
  void check_node(const Node& node, size_t position) {
    const HigherOrderRow* row = find_higher_order_operator(node.target);
    if (row == nullptr || row->graph_count == 0) return;
    const size_t behind = size_t{row->first_graph} + row->graph_count;
    for (size_t i = row->first_graph; i < behind; ++i) {
      if (i < node.inputs.size() && node.inputs[i].arg.is<SubgraphId>()) continue;
      findings_.add(Rule::higher_order_arguments, place_.program + placed_.node_place(position),
                    fmt::format("argument {} of {} is not a graph", i, row->name));
      return;
    }
    const std::vector<GraphOperand> operands = operands_of_graphs(*row, node);
    const Operands count = count_operands(operands);
    for (size_t i = row->first_graph; i < behind; ++i) {
      const Graph& nested = graph_.subgraph(*node.inputs[i].arg.get_if<SubgraphId>());
      const std::string where = place_.program + placed_.input_place(position, i);
      check_count(Rule::nested_inputs, where, nested.inputs().size(), count, "inputs", "operands");
      check_inputs(operands, nested, where);
      const bool condition = row->has(HigherOrderRow::kFirstIsCondition) && i == row->first_graph;
      check_count(Rule::nested_outputs, where, nested.outputs().size(),
                  condition ? Operands{1, 1} : count_results(node), "outputs",
                  condition ? "condition" : "results");
      if (!condition) check_outputs(*row, node, nested, where);
    }
  }

  // Compares the records of operands and inputs, if it is certain which operand an input receives.
  void check_inputs(std::span<const GraphOperand> operands, const Graph& nested,
                    const std::string& where) {
    if (operands.size() != nested.inputs().size()) return check_tensors(operands, nested, where);
    for (size_t i = 0; i < operands.size(); ++i) {
      const auto* id = nested.inputs()[i].get_if<ValueId>();
      const Argument& argument = *operands[i].argument;
      if (id == nullptr || argument.is<CustomObject>()) continue;
      const GraphValue& input = nested.value(*id);
      if (input.kind() == ValueKind::custom_obj) continue;
      const TensorMeta* operand = tensor_meta(graph_, argument);
      const TensorMeta* taken = input.tensor();
      if (operand != nullptr && taken != nullptr) {
        if (!may_be_part(*taken, *operand, operands[i].sliced_along))
          findings_.add(
              Rule::nested_inputs, where,
              fmt::format("operand {} is {}{}, the graph's input '{}' is {}", i, type_of(*operand),
                          slices_text("sliced", operands[i].sliced_along), input.name,
                          type_of(*taken)));
      } else if ((operand != nullptr) != (taken != nullptr)) {
        findings_.add(Rule::nested_inputs, where,
                      fmt::format("operand {} is {}, the graph's input '{}' is {}", i,
                                  operand != nullptr ? "a tensor" : "no tensor", input.name,
                                  operand != nullptr ? "none" : "one"));
      }
    }
  }

  // Settings stand among the operands, so it is unknown which operand an input receives.
  void check_tensors(std::span<const GraphOperand> operands, const Graph& nested,
                     const std::string& where) {
    const auto given = std::ranges::count_if(operands, [&](const GraphOperand& operand) {
      return tensor_meta(graph_, operand.argument) != nullptr;
    });
    const auto taken = std::ranges::count_if(nested.inputs(), [&](const Argument& input) {
      return tensor_meta(nested, input) != nullptr;
    });
    if (taken > given)
      findings_.add(Rule::nested_inputs, where,
                    fmt::format("{} of the graph's inputs are tensors, the node has {} of them",
                                taken, given));
  }

  void check_outputs(const HigherOrderRow& row, const Node& node, const Graph& nested,
                     const std::string& where) {
    std::vector<const TensorMeta*> results;
    for_each_result(node, [&](ValueId id) { results.push_back(graph_.value(id).tensor()); });
    if (results.size() != nested.outputs().size()) return;
    for (size_t i = 0; i < results.size(); ++i) {
      const TensorMeta* given = tensor_meta(nested, nested.outputs()[i]);
      const auto dim = stacked_along(row, node, i);
      if (given == nullptr || results[i] == nullptr || may_be_part(*given, *results[i], dim))
        continue;
      findings_.add(
          Rule::nested_outputs, where,
          fmt::format("the graph's output {} is {}, the node's result is {}{}", i, type_of(*given),
                      type_of(*results[i]), slices_text("stacked", dim)));
    }
  }

  void check_count(Rule rule, const std::string& where, size_t found, Operands expected,
                   std::string_view what, std::string_view whose) {
    if (found >= expected.least && found <= std::max(expected.least, expected.most)) return;
    findings_.add(
        rule, where,
        fmt::format("the graph has {} {}, the node has {} {}", found, what, expected.least, whose));
  }

  // The text is bounded and kept: a type can be as long as the file, and its value can be any
  // number of operands.
  const std::string& type_of(const TensorMeta& meta) {
    auto [entry, is_new] = types_.try_emplace(&meta);
    if (is_new) entry->second = bounded(type_text(program_, meta));
    return entry->second;
  }

  const Program& program_;
  const Graph& graph_;
  const PlacedGraph& placed_;
  const ProgramPlace& place_;
  Diagnostics& findings_;
  std::unordered_map<const TensorMeta*, std::string> types_;
};

}  // namespace

void check_higher_order(const Program& program, const ProgramPlace& place, Diagnostics& findings) {
  for (const PlacedGraph& placed : placed_graphs(program))
    HigherOrderChecks(program, placed, place, findings).run();
}

}  // namespace pt2
