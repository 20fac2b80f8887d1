#include "pt2/ops/operators.h"

#include <algorithm>
#include <map>

#include "ir/graph_place.h"
#include "ops/table.h"
#include "run/bound_graph.h"
#include "run/inner_tensor.h"

namespace pt2 {
namespace {

void collect(const Graph& graph, std::map<std::string, std::vector<OperatorCall>>& calls) {
  for (NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const OperatorCall call{node_name(graph, node), source_line(node), module_path(node)};
    calls[node.target].push_back(call);
    if (const auto method = called_method(graph, node))
      calls[*method].push_back(call);
    else if (const std::string* callee = called_operator(node))
      calls[*callee].push_back(call);
  }
  for (const Graph& subgraph : graph.subgraphs()) collect(subgraph, calls);
}

}  // namespace

void name_positional_arguments(Program& program) {
  for_each_graph(program.graph, [](Graph& graph) {
    for (NodeId id : graph.nodes()) {
      const ops::Operator op = ops::find_operator(graph.node(id).target);
      if (!op) continue;
      std::vector<NamedArgument> inputs = graph.node(id).inputs;
      for (size_t i = 0; i < inputs.size() && i < op.signature().parameter_count; ++i)
        if (inputs[i].name.empty()) inputs[i].name = op.signature().parameter_array[i].name;
      graph.set_node_inputs(id, std::move(inputs));
    }
  });
}

bool has_kernel(std::string_view target, const CustomOperators& operators) {
  return target == run::kAccessInnerTensor || run::find_higher_order(target) != nullptr ||
         static_cast<bool>(ops::find_operator(operators, target));
}

std::vector<OperatorInfo> available_operators(const CustomOperators& operators) {
  using Source = OperatorInfo::Origin;
  std::vector<OperatorInfo> out;
  for (std::string& target : run::higher_order_targets())
    out.push_back({std::move(target), "", Source::higher_order, false});
  for (const std::string& target : operators.targets())
    out.push_back(
        {target, std::string(operators.find(target)->signature.text), Source::custom, false});
  for (const ops::Family& family : ops::families())
    for (const ops::OpDef& def : family.rows) {
      std::string target = ops::target_of(*def.signature);
      if (operators.find(target) != nullptr) continue;
      out.push_back({std::move(target), std::string(def.signature->text), Source::build,
                     def.is_predictable()});
    }
  std::ranges::sort(out, {}, &OperatorInfo::target);
  return out;
}

std::vector<OperatorUse> operators_used(const Program& program, const CustomOperators& operators) {
  std::map<std::string, std::vector<OperatorCall>> calls;
  collect(program.graph, calls);
  std::vector<OperatorUse> out;
  for (auto& [target, places] : calls)
    out.push_back({target, has_kernel(target, operators), std::move(places)});
  std::ranges::stable_sort(out, [](const OperatorUse& a, const OperatorUse& b) {
    return a.calls.size() > b.calls.size();
  });
  return out;
}

}  // namespace pt2
