#include "transform/node_hash.h"

#include <bit>

namespace pt2 {

uint64_t mix_hash(uint64_t hash, uint64_t value) {
  // A multiply-shift step like those of MurmurHash3's finalizer.
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  hash ^= hash >> 33;
  hash *= 0xff51afd7ed558ccdu;
  hash ^= hash >> 33;
  return hash;
}

uint64_t mix_hash(uint64_t hash, std::string_view text) {
  // FNV-1a.
  uint64_t value = 0xcbf29ce484222325u;
  for (char c : text) value = (value ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return mix_hash(mix_hash(hash, value), text.size());
}

namespace {

class NodeHash {
 public:
  explicit NodeHash(const OperandHashes& operands) : operands_(operands) {}

  uint64_t of_argument(uint64_t hash, const Argument& argument) const {
    hash = mix_hash(hash, argument.variant.index() * 4 + static_cast<uint64_t>(argument.wrapper));
    return std::visit([&](const auto& value) { return of(hash, value); }, argument.variant);
  }

 private:
  uint64_t of(uint64_t hash, None) const { return hash; }
  uint64_t of(uint64_t hash, ValueId id) const { return mix_hash(hash, operands_.value(id)); }
  uint64_t of(uint64_t hash, bool value) const { return mix_hash(hash, uint64_t{value}); }
  uint64_t of(uint64_t hash, int64_t value) const {
    return mix_hash(hash, static_cast<uint64_t>(value));
  }
  uint64_t of(uint64_t hash, double value) const {
    return mix_hash(hash, std::bit_cast<uint64_t>(value));
  }
  uint64_t of(uint64_t hash, std::complex<double> value) const {
    return of(of(hash, value.real()), value.imag());
  }
  uint64_t of(uint64_t hash, const std::string& value) const { return mix_hash(hash, value); }
  uint64_t of(uint64_t hash, ScalarType value) const { return of(hash, value.number); }
  uint64_t of(uint64_t hash, MemoryFormat value) const {
    return mix_hash(hash, static_cast<uint64_t>(value));
  }
  uint64_t of(uint64_t hash, Layout value) const {
    return mix_hash(hash, static_cast<uint64_t>(value));
  }
  uint64_t of(uint64_t hash, const Device& value) const {
    return of(mix_hash(hash, value.type), value.index.value_or(-1));
  }
  uint64_t of(uint64_t hash, const OperatorName& value) const {
    return mix_hash(hash, value.target);
  }
  uint64_t of(uint64_t hash, SubgraphId id) const { return operands_.subgraph(hash, id); }
  uint64_t of(uint64_t hash, const CustomObject& value) const { return mix_hash(hash, value.name); }
  uint64_t of(uint64_t hash, const ArgumentList& list) const {
    hash = mix_hash(hash, static_cast<uint64_t>(list.kind) + list.items.size() * 16);
    for (const Argument& item : list.items) hash = of_argument(hash, item);
    return hash;
  }
  uint64_t of(uint64_t hash, const ArgumentMap& map) const {
    for (const auto& [key, item] : map.items) hash = of_argument(mix_hash(hash, key), item);
    return hash;
  }
  uint64_t of(uint64_t hash, const UnknownArgument& value) const {
    return mix_hash(mix_hash(hash, value.tag), value.json);
  }

  const OperandHashes& operands_;
};

}  // namespace

uint64_t hash_node(const Node& node, const OperandHashes& operands) {
  const NodeHash hashes(operands);
  uint64_t hash = mix_hash(0, node.target);
  for (const NamedArgument& input : node.inputs)
    hash = hashes.of_argument(mix_hash(hash, input.name), input.arg);
  return hash;
}

}  // namespace pt2
