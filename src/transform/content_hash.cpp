#include "transform/content_hash.h"

#include <bit>
#include <string_view>

namespace pt2 {
namespace {

uint64_t mix(uint64_t hash, uint64_t value) {
  // The finaliser of MurmurHash3.
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  hash ^= hash >> 33;
  hash *= 0xff51afd7ed558ccdu;
  hash ^= hash >> 33;
  return hash;
}

uint64_t mix(uint64_t hash, std::string_view text) {
  // FNV-1a.
  uint64_t value = 0xcbf29ce484222325u;
  for (char c : text) value = (value ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return mix(mix(hash, value), text.size());
}

class ContentHashes {
 public:
  ContentHashes(const Graph& graph, std::span<const Argument> inputs,
                std::span<const Argument> outputs)
      : graph_(graph), down_(graph.value_count()), up_(graph.value_count()) {
    for (size_t i = 0; i < inputs.size(); ++i)
      for_each_value(inputs[i],
                     [&](ValueId id) { down_[static_cast<size_t>(id)] = mix(i + 1, "input"); });
    // Sums over the users are commutative, so that the order of users does not matter.
    for (size_t i = 0; i < outputs.size(); ++i)
      for_each_value(outputs[i],
                     [&](ValueId id) { up_[static_cast<size_t>(id)] += mix(i + 1, "output"); });
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
    hash = mix(0, node.target);
    for (const NamedArgument& input : node.inputs)
      hash = of_argument(mix(hash, input.name), input.arg);
    uint64_t index = 0;
    for (const Argument& output : node.outputs)
      for_each_value(
          output, [&](ValueId value) { down_[static_cast<size_t>(value)] = mix(hash, ++index); });
  }

  void hash_uses(NodeId id, uint64_t& hash) {
    const Node& node = graph_.node(id);
    uint64_t index = 0;
    for (const Argument& output : node.outputs)
      for_each_value(output, [&](ValueId value) {
        hash = mix(mix(hash, ++index), up_[static_cast<size_t>(value)]);
      });
    index = 0;
    for (const NamedArgument& input : node.inputs)
      for_each_value(input.arg,
                     [&](ValueId value) { up_[static_cast<size_t>(value)] += mix(hash, ++index); });
  }

  uint64_t of_argument(uint64_t hash, const Argument& argument) const {
    hash = mix(hash, argument.variant.index() * 4 + static_cast<uint64_t>(argument.wrapper));
    return std::visit([&](const auto& value) { return of(hash, value); }, argument.variant);
  }

  uint64_t of(uint64_t hash, None) const { return hash; }
  uint64_t of(uint64_t hash, ValueId id) const { return mix(hash, down_[static_cast<size_t>(id)]); }
  uint64_t of(uint64_t hash, bool value) const { return mix(hash, uint64_t{value}); }
  uint64_t of(uint64_t hash, int64_t value) const {
    return mix(hash, static_cast<uint64_t>(value));
  }
  uint64_t of(uint64_t hash, double value) const {
    return mix(hash, std::bit_cast<uint64_t>(value));
  }
  uint64_t of(uint64_t hash, std::complex<double> value) const {
    return of(of(hash, value.real()), value.imag());
  }
  uint64_t of(uint64_t hash, const std::string& value) const { return mix(hash, value); }
  uint64_t of(uint64_t hash, ScalarType value) const { return of(hash, value.number); }
  uint64_t of(uint64_t hash, MemoryFormat value) const {
    return mix(hash, static_cast<uint64_t>(value));
  }
  uint64_t of(uint64_t hash, Layout value) const { return mix(hash, static_cast<uint64_t>(value)); }
  uint64_t of(uint64_t hash, const Device& value) const {
    return of(mix(hash, value.type), value.index.value_or(-1));
  }
  uint64_t of(uint64_t hash, const OperatorName& value) const { return mix(hash, value.target); }
  uint64_t of(uint64_t hash, SubgraphId id) const {
    const Graph& graph = graph_.subgraph(id);
    for (uint64_t node : content_hashes(graph, graph.inputs(), graph.outputs())) hash += node;
    return mix(hash, graph.inputs().size());
  }
  uint64_t of(uint64_t hash, const CustomObject& value) const { return mix(hash, value.name); }
  uint64_t of(uint64_t hash, const ArgumentList& list) const {
    hash = mix(hash, static_cast<uint64_t>(list.kind) + list.items.size() * 16);
    for (const Argument& item : list.items) hash = of_argument(hash, item);
    return hash;
  }
  uint64_t of(uint64_t hash, const ArgumentMap& map) const {
    for (const auto& [key, item] : map.items) hash = of_argument(mix(hash, key), item);
    return hash;
  }
  uint64_t of(uint64_t hash, const UnknownArgument& value) const {
    return mix(mix(hash, value.tag), value.json);
  }

  const Graph& graph_;
  std::vector<uint64_t> down_, up_;  // by value: a hash of its definition, and one of its uses
};

}  // namespace

std::vector<uint64_t> content_hashes(const Graph& graph, std::span<const Argument> inputs,
                                     std::span<const Argument> outputs) {
  return ContentHashes(graph, inputs, outputs).run();
}

}  // namespace pt2
