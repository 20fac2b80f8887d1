// Checks the texts in the metadata of nodes (torch/_export/serde/serialize.py,
// deserialize_metadata).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

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

// Returns the fault of one metadata text and the rule that it breaks; nothing if the text is right.
std::optional<std::pair<Rule, std::string>> fault_of(const Node& node, std::string_view key,
                                                     std::string_view text) {
  if (text.empty()) return std::nullopt;
  if (key == "nn_module_stack") {
    if (auto stack = module_stack(node); !stack)
      return std::pair(Rule::module_stack, std::move(stack).error().message);
  }
  if (key == "source_fn_stack" && !is_source_fn_stack(text))
    return std::pair(Rule::source_fn_stack,
                     fmt::format("found '{}', expected name,target;...", text));
  if (key == "custom" || key == "from_node") {
    if (auto json = parse_json(text); !json)
      return std::pair(Rule::metadata_json, std::move(json).error().message);
  }
  return std::nullopt;
}

class MetadataChecks {
 public:
  MetadataChecks(const ProgramPlace& place, Diagnostics& findings)
      : place_(place), findings_(findings) {}

  void check(const PlacedGraph& placed) {
    size_t position = 0;
    for (NodeId id : placed.graph->nodes()) check_node(placed, placed.graph->node(id), position++);
  }

 private:
  void check_node(const PlacedGraph& placed, const Node& node, size_t position) {
    for (const auto& [key, text] : node.metadata) {
      // Nodes of one module share their text, so the last right text of each key is not checked
      // again.
      std::string_view& good = good_[key];
      if (good == text) continue;
      if (auto fault = fault_of(node, key, text))
        findings_.add(
            fault->first,
            fmt::format("{}{}.metadata.{}", place_.program, placed.node_place(position), key),
            std::move(fault->second));
      else
        good = text;
    }
  }

  const ProgramPlace& place_;
  Diagnostics& findings_;
  std::map<std::string_view, std::string_view> good_;  // for each key the last text that was right
};

}  // namespace

void check_metadata(const Program& program, const ProgramPlace& place, Diagnostics& findings) {
  MetadataChecks checks(place, findings);
  for (const PlacedGraph& placed : placed_graphs(program)) checks.check(placed);
}

}  // namespace pt2
