// Reads the Python pickles that torch.save writes. The reader is a small machine that knows only
// tensors, containers and numbers. It never imports or calls a name of a pickle. Imitates
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
  tuple, list, set, deque, size,     // with items
  dict, ordered_dict, default_dict,  // with keys and values
  tensor, storage, dtype, device,
  constant,  // a known name: torch.sparse_coo, torch.channels_last, torch.Tensor
  global,    // a refused name (listing mode)
  object,    // an object that a refused name, or torch.ScriptObject, would have made
};
// clang-format on
std::string_view pickle_kind_name(PickleKind kind);

// One pickled tensor. `tensor` is defined if the file holds its elements in a plain strided layout.
// Otherwise `missing` has the reason ("fake tensor", "layout torch.sparse_coo", "quantized"), and
// the other members have what is known.
struct PickleTensor {
  Tensor tensor;
  std::string missing;
  std::string class_name;  // the subclass; "" for torch.Tensor and Parameter
  std::string dtype;       // "float32"; "" if unknown
  std::string device;      // as written: "cpu", "cuda:0"
  Sizes sizes;
  bool is_parameter = false;
  bool requires_grad = false;
};

struct PickleNode;
struct PickleGraph;
struct ForeignCall;

// A value inside a Pickle. It is a cheap handle, valid as long as the Pickle lives. The values of a
// pickle may be shared, and may even contain themselves: traverse them with a budget, or use the
// functions below.
class PickleValue {
 public:
  PickleKind kind() const;
  bool is(PickleKind expected) const { return kind() == expected; }
  // Return the value of a boolean, integer, floating or complex. Check the kind (PT2_CHECK), as do
  // text() and tensor().
  bool as_bool() const;
  int64_t as_int() const;
  double as_float() const;  // floating; the real part of a complex
  double imaginary() const;
  // Returns the text of a string, bytes, big_integer (decimal digits), dtype, device, constant,
  // global ("os.system") or object (class name).
  std::string_view text() const;
  const PickleTensor& tensor() const;
  // Returns the number of items of a tuple, list, set, deque or size. The items of an object are
  // its arguments, state and appended items; those of a tensor without strided data are its parts
  // (indices and values of a sparse tensor). 0 for other kinds.
  size_t size() const;
  PickleValue operator[](size_t index) const;
  // Return the number of pairs of one of the three dicts, and its keys and values in insertion
  // order. As in Python, a key that is set twice keeps its first place and its last value.
  size_t dict_size() const;
  PickleValue key(size_t index) const;
  PickleValue value(size_t index) const;
  bool is_dict() const;
  // True for an object that a function call would have made, false for an object of a user's class.
  bool is_called() const;
  bool is_sequence() const;
  // True if both are one object in the pickle.
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

// An unknown global that a pickle names. `called` is true if the pickle calls it as a function
// (REDUCE and similar opcodes, which attacks need), false if it is the class of a user's object.
struct RefusedGlobal {
  std::string name;     // "os.system"
  uint64_t offset = 0;  // of the opcode that names it
  bool called = false;
};

// A decoded pickle. Immutable; copies share the values.
class Pickle {
 public:
  PickleValue root() const;
  // Returns the unknown globals in order of appearance, each name once. Filled in listing mode
  // only.
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
  strict,    // an unknown global is an error `unsupported`; for weights and constants
  in_place,  // as strict, but storages are not copied for alignment; for tensors that are only
             // written again, not computed with
  listing,   // collects unknown globals and keeps their results as opaque objects; for sample
             // inputs
};

// Returns the whole storage called `key`, at a multiple of `alignment` in memory. Called once for
// each key. The pickle expects at least `bytes` bytes, which the caller checks.
using StorageLoader = std::function<Result<std::shared_ptr<Storage>>(
    std::string_view key, size_t alignment, uint64_t bytes)>;

// Reads one pickle stream. Errors: `malformed` (not a pickle, stack misuse), `corrupt` (truncated),
// `unsupported` (refused global, protocol above 5), `invalid` (a tensor outside its storage),
// `limit`. Their `where` is "byte 123". O(bytes).
Result<Pickle> read_pickle(std::span<const std::byte> bytes, PickleMode mode,
                           const StorageLoader& storages, const Limits& limits = {});

// Reads a torch.save file (zip) inside `record`. Tensors with one storage key share one Storage,
// which stays in the record's memory if aligned. An empty record gives a Pickle of None: with it
// torch.export writes nothing. Errors: those of ZipReader and read_pickle; `unsupported` for
// big-endian data. Their `where` is the inner record.
Result<Pickle> read_torch_save(const Record& record, PickleMode mode, const Limits& limits = {});

// Reads a file in the form that torch.save had before 1.6, and still has without
// _use_new_zipfile_serialization. Errors: those of read_pickle; `unsupported` for big-endian data.
bool is_legacy_torch_save(std::span<const std::byte> bytes);
Result<Pickle> read_legacy_torch_save(const Record& record, PickleMode mode,
                                      const Limits& limits = {});

// A leaf of the example inputs: its path, "args[0]['x'].low" or "kwargs['n']", and the value.
struct SampleInput {
  std::string path;
  PickleValue value;
};
// Returns the leaves of (args, kwargs) in the order of torch.utils._pytree. The containers are
// tuples, lists, deques, dicts (in insertion order) and objects of user classes (arguments, then
// state). None is a leaf, except as an attribute of an object. An empty record (None) has no
// leaves. Errors: `invalid` if the root is not (args, kwargs); `limit` for values nested too deeply
// or shared too often.
Result<std::vector<SampleInput>> flatten_sample_inputs(const Pickle& pickle,
                                                       const Limits& limits = {});

}  // namespace pt2

#endif  // PT2_FORMAT_PICKLE_H
