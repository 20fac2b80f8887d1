// Python pickles as torch.save writes them, read by a small machine that knows tensors, containers
// and numbers, and nothing else: no name in a pickle is ever imported or called. Imitates
// torch/_weights_only_unpickler.py.
#ifndef PT2_FORMAT_PICKLE_H
#define PT2_FORMAT_PICKLE_H

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pt2/format/zip.h"
#include "pt2/limits.h"
#include "pt2/result.h"
#include "pt2/tensor.h"

namespace pt2 {

// clang-format off
enum class PickleKind : uint8_t {
  none, boolean, integer, big_integer, floating, complex, string, bytes,
  tuple, list, set, deque, size,     // hold items
  dict, ordered_dict, default_dict,  // hold keys and values
  tensor, storage, dtype, device,
  constant,  // a known name: torch.sparse_coo, torch.channels_last, torch.Tensor
  global,    // a refused name (listing mode)
  object,    // what a refused name, or torch.ScriptObject, would have made
};
// clang-format on
std::string_view pickle_kind_name(PickleKind kind);

// One tensor as pickled. `tensor` is defined when the file holds its elements in a plain strided
// layout; otherwise `missing` says why not ("fake tensor", "layout torch.sparse_coo", "quantized")
// and the rest is what is known.
struct PickleTensor {
  Tensor tensor;
  std::string missing;
  std::string class_name;  // "" for torch.Tensor and Parameter, else the subclass
  std::string dtype;       // "float32"; "" when not known
  std::string device;      // as written: "cpu", "cuda:0"
  Sizes sizes;
  bool is_parameter = false;
  bool requires_grad = false;
};

struct PickleNode;
struct PickleGraph;
struct ForeignCall;

// A value inside a Pickle; a cheap handle, valid as long as the Pickle lives. Pickles may share and
// even nest values in themselves: walk with a budget, or use the functions below.
class PickleValue {
 public:
  PickleKind kind() const;
  bool is(PickleKind expected) const { return kind() == expected; }
  // The payloads; PT2_CHECK on the kind.
  bool as_bool() const;
  int64_t as_int() const;
  double as_float() const;  // floating; the real part of a complex
  double imaginary() const;
  // string, bytes, big_integer (decimal digits), dtype, device, constant, global ("os.system"),
  // object (class name).
  std::string_view text() const;
  const PickleTensor& tensor() const;
  // Items of tuple, list, set, deque, size; of an object: arguments, state and appended items; of a
  // tensor without strided data: its parts (a sparse tensor's indices, values). 0 for other kinds.
  size_t size() const;
  PickleValue operator[](size_t index) const;
  // Pairs of the three dicts, in insertion order. As in Python a key set twice keeps its first
  // place and last value.
  size_t dict_size() const;
  PickleValue key(size_t index) const;
  PickleValue value(size_t index) const;
  bool is_dict() const;
  // An object that a function call would have made, as opposed to one of a user's class.
  bool is_called() const;
  bool is_sequence() const;
  // Whether both are the same node: one object in the pickle.
  bool same_as(const PickleValue& other) const {
    return graph_ == other.graph_ && id_ == other.id_;
  }

 private:
  friend class Pickle;
  friend class PickleBuilder;
  PickleValue(const PickleGraph* graph, uint32_t id) : graph_(graph), id_(id) {}
  const PickleNode& node() const;
  std::span<const uint32_t> items() const;
  const PickleGraph* graph_;
  uint32_t id_;
};

// A global that was named and is not known. `called` tells a function call (REDUCE and the like,
// what an attack needs) from an object of a user's class.
struct RefusedGlobal {
  std::string name;     // "os.system"
  uint64_t offset = 0;  // of the opcode that names it
  bool called = false;
};

// A decoded pickle. Immutable; copies share.
class Pickle {
 public:
  PickleValue root() const;
  // Listing mode only; in order of appearance, each name once.
  std::span<const RefusedGlobal> refused() const;

 private:
  friend class Unpickler;
  friend class PickleBuilder;
  friend std::span<const ForeignCall> pickle_calls(const Pickle& pickle);
  friend Result<std::vector<struct SampleInput>> flatten_sample_inputs(const Pickle& pickle,
                                                                       const Limits& limits);
  friend class Pickler;
  std::shared_ptr<const PickleGraph> graph_;
};

enum class PickleMode : uint8_t {
  strict,    // the first unknown global is an Error `unsupported`: for weights and constants
  in_place,  // as strict, with storages left where they are, however their bytes are aligned: for
             // tensors that are written again, and not computed with
  listing,   // unknown globals are collected, what they would make is kept as opaque objects: for
             // sample inputs
};

// The whole storage called `key`, at a multiple of `alignment` in memory; asked once for each key.
using StorageLoader =
    std::function<Result<std::shared_ptr<Storage>>(std::string_view key, size_t alignment)>;

// One pickle stream. Errors: `malformed` (not a pickle, stack misuse), `corrupt` (cut off),
// `unsupported` (refused global, protocol above 5), `invalid` (a tensor outside its storage),
// `limit`. `where` is "byte 123". O(bytes).
Result<Pickle> read_pickle(std::span<const std::byte> bytes, PickleMode mode,
                           const StorageLoader& storages, const Limits& limits = {});

// A torch.save file (zip) inside `record`. Tensors of one storage key share one Storage, which
// stays in the record's memory where aligned. An empty record gives a Pickle of None:
// torch.export's way to write nothing. Errors: those of ZipReader and read_pickle, `unsupported`
// for big-endian data; `where` is the inner record.
Result<Pickle> read_torch_save(const Record& record, PickleMode mode, const Limits& limits = {});

// A leaf of the example inputs: its place, "args[0]['x'].low" or "kwargs['n']", and the value.
struct SampleInput {
  std::string path;
  PickleValue value;
};
// The leaves of (args, kwargs) in torch.utils._pytree order: tuples, lists, deques and dicts
// (insertion order) are opened, objects of user classes too (arguments, then state); None is a
// leaf, except as an attribute of an object. Error `invalid` when the root is not (args, kwargs),
// `limit` for values nested too deep or shared too often. An empty record (None) has no leaves.
Result<std::vector<SampleInput>> flatten_sample_inputs(const Pickle& pickle,
                                                       const Limits& limits = {});

}  // namespace pt2

#endif  // PT2_FORMAT_PICKLE_H
