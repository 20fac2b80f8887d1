// Attributes the differences from another program to the nodes of the drawn program.
#include <algorithm>
#include <set>

#include "base/hash/text_hash.h"
#include "pt2/tools/drawing.h"

namespace pt2 {
namespace {

class DifferenceReader {
 public:
  DifferenceReader(const Program& after, const Difference& difference)
      : after_(after), difference_(difference) {}

  DrawnDifference read() {
    for (const InputSpec& spec : after_.signature.input_specs)
      if (spec.target) held_.try_emplace(*spec.target, spec.arg.name);
    read_pairs(after_.graph, difference_.nodes);
    for (const NestedPairs& nested : difference_.nested) read_pairs(*nested.after, nested.nodes);
    for (size_t i = 0; i < difference_.changes.size(); ++i)
      if (!told_.contains(i)) read_other(difference_.changes[i]);
    return std::move(out_);
  }

 private:
  std::string line(size_t change) {
    told_.insert(change);
    return difference_.changes[change].line();
  }

  // Changes of nested graphs are reported at their own nodes, which are read later.
  void read_pairs(const Graph& graph, const std::vector<NodePair>& pairs) {
    std::vector<std::string> removed;
    for (const NodePair& pair : pairs) {
      if (!pair.after) {
        removed.push_back(line(pair.first_change));
        ++out_.counts[static_cast<size_t>(ChangeKind::removed)];
        continue;
      }
      const Node& node = graph.node(*pair.after);
      if (!pair.changed && removed.empty()) continue;
      DrawnDifference::OfNode& drawn = out_.nodes[&node];
      drawn.removed = std::exchange(removed, {});
      if (!pair.before)
        add_with_nested(graph, node);
      else if (pair.changed)
        change(drawn, ChangeKind::changed);
      for (size_t i = 0; i < pair.change_count; ++i)
        drawn.lines.push_back(line(pair.first_change + i));
    }
    std::ranges::move(removed, std::back_inserter(out_.removed_at_ends));
  }

  void change(DrawnDifference::OfNode& drawn, ChangeKind kind) {
    if (!drawn.kind) ++out_.counts[static_cast<size_t>(kind)];
    drawn.kind = kind;
  }

  void add_with_nested(const Graph& graph, const Node& node) {
    change(out_.nodes[&node], ChangeKind::added);
    for (const NamedArgument& input : node.inputs)
      for_each_subgraph(input.arg, [&](SubgraphId id) {
        const Graph& nested = graph.subgraph(id);
        for (const NodeId inner : nested.nodes()) add_with_nested(nested, nested.node(inner));
      });
  }

  // Changed weights are shown at the nodes that read them.
  void read_other(const Change& other) {
    const std::string text = other.line();
    out_.others.push_back(text);
    std::set<NodeId> readers;
    for (const std::string& weight : other.weights) {
      const auto held = held_.find(weight);
      const auto value = held == held_.end() ? std::nullopt : after_.graph.find_value(held->second);
      if (!value) continue;
      for (const Use& use : after_.graph.uses(*value))
        if (use.node) readers.insert(*use.node);
    }
    for (const NodeId reader : readers) {
      DrawnDifference::OfNode& drawn = out_.nodes[&after_.graph.node(reader)];
      change(drawn, drawn.kind.value_or(ChangeKind::changed));
      drawn.lines.push_back(text);
    }
  }

  const Program& after_;
  const Difference& difference_;
  DrawnDifference out_;
  std::set<size_t> told_;
  TextMap<std::string_view, std::string_view> held_;  // names of values by the weights they hold
};

}  // namespace

DrawnDifference drawn_difference(const Program& after, const Difference& difference) {
  return DifferenceReader(after, difference).read();
}

}  // namespace pt2
