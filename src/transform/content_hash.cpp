#include "transform/content_hash.h"

#include "transform/node_hash.h"

namespace pt2 {
namespace {

class ContentHashes {
 public:
  ContentHashes(const Graph& graph, std::span<const Argument> inputs,
                std::span<const Argument> outputs)
      : graph_(graph), down_(graph.value_count()), up_(graph.value_count()) {
    for (size_t i = 0; i < inputs.size(); ++i)
      for_each_value(inputs[i], [&](ValueId id) {
        down_[static_cast<size_t>(id)] = mix_hash(i + 1, "input");
      });
    // Sums over users are commutative, so the order of users does not matter.
    for (size_t i = 0; i < outputs.size(); ++i)
      for_each_value(outputs[i], [&](ValueId id) {
        up_[static_cast<size_t>(id)] += mix_hash(i + 1, "output");
      });
  }

  std::vector<uint64_t> run() {
    std::vector<uint64_t> hashes(graph_.node_count());
    std::vector<NodeId> order;
    for (NodeId id : graph_.nodes()) {
      order.push_back(id);
      hash_definition(id, hashes[static_cast<size_t>(id)]);
    }
    while (!order.empty()) {
      const NodeId id = order.back();
      order.pop_back();
      hash_uses(id, hashes[static_cast<size_t>(id)]);
    }
    return hashes;
  }

 private:
  void hash_definition(NodeId id, uint64_t& hash) {
    const Node& node = graph_.node(id);
    hash = hash_node(node, operands_);
    uint64_t index = 0;
    for (const Argument& output : node.outputs)
      for_each_value(output, [&](ValueId value) {
        down_[static_cast<size_t>(value)] = mix_hash(hash, ++index);
      });
  }

  void hash_uses(NodeId id, uint64_t& hash) {
    const Node& node = graph_.node(id);
    uint64_t index = 0;
    for (const Argument& output : node.outputs)
      for_each_value(output, [&](ValueId value) {
        hash = mix_hash(mix_hash(hash, ++index), up_[static_cast<size_t>(value)]);
      });
    index = 0;
    for (const NamedArgument& input : node.inputs)
      for_each_value(input.arg, [&](ValueId value) {
        up_[static_cast<size_t>(value)] += mix_hash(hash, ++index);
      });
  }

  uint64_t mix_subgraph(uint64_t hash, SubgraphId id) const {
    const Graph& graph = graph_.subgraph(id);
    for (uint64_t node : content_hashes(graph, graph.inputs(), graph.outputs())) hash += node;
    return mix_hash(hash, graph.inputs().size());
  }

  const Graph& graph_;
  std::vector<uint64_t> down_, up_;  // by value: hashes of the definition and of the uses
  const OperandHashes operands_{
      [this](ValueId id) { return down_[static_cast<size_t>(id)]; },
      [this](uint64_t hash, SubgraphId id) { return mix_subgraph(hash, id); }};
};

}  // namespace

std::vector<uint64_t> content_hashes(const Graph& graph, std::span<const Argument> inputs,
                                     std::span<const Argument> outputs) {
  return ContentHashes(graph, inputs, outputs).run();
}

}  // namespace pt2
