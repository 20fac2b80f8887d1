// The values of one pickle, in one vector. Values may share others and even contain themselves:
// reference counts would leak such cycles, and recursive destructors could overflow the stack.
#ifndef PT2_ARCHIVE_PICKLE_PICKLE_GRAPH_H
#define PT2_ARCHIVE_PICKLE_PICKLE_GRAPH_H

#include <complex>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "archive/pickle/pickle_code.h"
#include "archive/pickle/pickle_globals.h"
#include "pt2/format/pickle.h"

namespace pt2 {

using PickleId = uint32_t;
using PickleItems = std::vector<PickleId>;

// The payload of kinds that need several fields.
struct PickleObject {
  std::string text;     // object: class name
  PickleItems items;    // object, tensor without strided data
  PickleTensor tensor;  // tensor
  std::shared_ptr<Storage> storage;
  const KnownGlobal* storage_class = nullptr;
  std::string device;   // storage
  bool called = false;  // object
  // object: torch.ScriptObject, whose state names the C++ class in `text`.
  const KnownGlobal* python_class = nullptr;
  // object: the first `arguments` of `items` are the arguments of the class, the item at index
  // `state` is its state, and all others were appended (alternating keys and values if `pairs`).
  // `arguments` is not set if protocol 2 has no opcode for how the object was made.
  std::optional<size_t> arguments;
  std::optional<size_t> state;
  bool pairs = false;
};

struct PickleNode {
  PickleKind kind = PickleKind::none;
  // bool, integer, floating, complex, text (string, bytes, big_integer, dtype, device, constant),
  // items (containers; keys and values alternate in dicts), known global (constant), index of a
  // refused global, object.
  std::variant<std::monostate, bool, int64_t, double, std::complex<double>, std::string,
               PickleItems, const KnownGlobal*, uint32_t, std::unique_ptr<PickleObject>>
      payload;
};

// The memory that the values of a pickle may take, and the name of the limit that sets it.
struct PickleMemory {
  uint64_t max = UINT64_MAX;
  std::string_view limit = "max_pickle_memory";

  static PickleMemory of(size_t pickle_bytes, const Limits& limits);
  // "the values take more than 65536 bytes (max_pickle_ratio)".
  std::string exceeded_text(std::string_view what) const;
};

// A function, and the tuple of its arguments.
struct PickleMaking {
  const KnownGlobal* function;
  PickleId arguments;
};

// Data that is only needed to write the pickle again.
struct PickleExtras {
  // How tensors without strided data were made.
  std::map<PickleId, PickleMaking> makings;
  // States that BUILD sets, or rebuild functions that take a state: dynamo's marks on tensors, the
  // _metadata of a state dict.
  std::map<PickleId, PickleId> states;
  // The arguments of each defaultdict and bounded deque.
  std::map<PickleId, PickleItems> arguments;
  // Sets that were frozensets.
  std::set<PickleId> frozen;
};

struct PickleGraph {
  std::vector<PickleNode> nodes;
  std::vector<ForeignCall> calls;        // listing mode; only the first few
  std::vector<ForeignCall> expressions;  // listing mode; only the first few
  PickleExtras extras;
  std::vector<RefusedGlobal> refused;
  PickleMemory memory;
  PickleId root = 0;
};

constexpr bool is_dict_kind(PickleKind kind) {
  return kind == PickleKind::dict || kind == PickleKind::ordered_dict ||
         kind == PickleKind::default_dict;
}
constexpr bool is_sequence_kind(PickleKind kind) {
  return kind == PickleKind::tuple || kind == PickleKind::list || kind == PickleKind::set ||
         kind == PickleKind::deque || kind == PickleKind::size;
}

// Merges duplicate keys as Python does: a key keeps its first place and its last value.
void merge_duplicate_keys(PickleGraph& graph);

}  // namespace pt2

#endif  // PT2_ARCHIVE_PICKLE_PICKLE_GRAPH_H
