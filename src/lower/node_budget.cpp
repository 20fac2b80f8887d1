#include "lower/node_budget.h"

#include <fmt/format.h>

namespace pt2 {
namespace {

uint64_t argument_count(const Argument& argument) {
  uint64_t count = 1;
  if (const auto* list = argument.get_if<ArgumentList>())
    for (const Argument& item : list->items) count += argument_count(item);
  if (const auto* map = argument.get_if<ArgumentMap>())
    for (const auto& [key, item] : map->items) count += argument_count(item);
  if (const auto* text = argument.get_if<std::string>()) count += text->size() / sizeof(Argument);
  return count;
}

}  // namespace

Error NodeBudget::exceeded_by(std::string_view who_adds) const {
  return {ErrorCode::limit,
          fmt::format("{} more nodes than max_new_nodes {} allows", who_adds, most_)};
}

uint64_t weight_of(const Graph& graph, const Node& node) {
  constexpr uint64_t kUsualArguments = 64, kUsualText = 16'384;
  uint64_t arguments = 0, text = 0, count = 1;
  for (const auto& [key, entry] : node.metadata) text += key.size() + entry.size();
  for (const Argument& output : node.outputs) arguments += argument_count(output);
  for (const NamedArgument& input : node.inputs) {
    arguments += argument_count(input.arg);
    for_each_subgraph(input.arg, [&](SubgraphId id) {
      const Graph& nested = graph.subgraph(id);
      count += 1 + nested.value_count() / kUsualArguments;
      for (const NodeId each : nested.nodes()) count += weight_of(nested, nested.node(each));
    });
  }
  return count + arguments / kUsualArguments + text / kUsualText;
}

}  // namespace pt2
