// The texts in the metadata of nodes (torch/_export/serde/serialize.py, deserialize_metadata).
#include <fmt/format.h>

#include <algorithm>

#include "analysis/program_checks.h"
#include "base/json.h"
#include "ir/graph_place.h"

namespace pt2 {
namespace {

// "name,target;name,target".
bool is_source_fn_stack(std::string_view text) {
  while (true) {
    const size_t end = std::min(text.find(';'), text.size());
    if (std::ranges::count(text.substr(0, end), ',') != 1) return false;
    if (end == text.size()) return true;
    text.remove_prefix(end + 1);
  }
}

void check_node(const Node& node, const std::string& place, Diagnostics& findings) {
  for (const auto& [key, text] : node.metadata) {
    const auto add = [&, &name = key](Rule rule, std::string message) {
      findings.add(rule, fmt::format("{}.metadata.{}", place, name), std::move(message));
    };
    if (key == "nn_module_stack" && !text.empty()) {
      if (auto stack = module_stack(node); !stack)
        add(Rule::module_stack, std::move(stack).error().message);
    }
    if (key == "source_fn_stack" && !text.empty() && !is_source_fn_stack(text))
      add(Rule::source_fn_stack, fmt::format("found '{}', expected name,target;...", text));
    if (key == "custom" || key == "from_node") {
      if (auto json = parse_json(text); !json)
        add(Rule::metadata_json, std::move(json).error().message);
    }
  }
}

}  // namespace

void check_metadata(const Program& program, const ProgramPlace& place, Diagnostics& findings) {
  for (const PlacedGraph& placed : placed_graphs(program)) {
    size_t position = 0;
    for (NodeId id : placed.graph->nodes()) {
      const Node& node = placed.graph->node(id);
      if (!node.metadata.empty())
        check_node(node, place.program + placed.node_place(position), findings);
      ++position;
    }
  }
}

}  // namespace pt2
