// Values made into pickles, and pickles written as torch.save writes them. Whatever read_pickle
// understands can be written again; for what torch.save of protocol 2 wrote, in the same bytes.
// Imitates Python's C pickler (Modules/_pickle.c) and torch/serialization.py.
#ifndef PT2_FORMAT_PICKLE_WRITE_H
#define PT2_FORMAT_PICKLE_WRITE_H

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "pt2/format/pickle.h"
#include "pt2/format/zip.h"
#include "pt2/limits.h"
#include "pt2/result.h"
#include "pt2/tensor.h"

namespace pt2 {

// Makes the values of one Pickle. An object that several places share is written once, as Python
// does: use the same PickleValue in each place. Containers take values of the same builder
// (PT2_CHECK).
class PickleBuilder {
 public:
  using Pair = std::pair<PickleValue, PickleValue>;

  PickleBuilder();
  PickleValue none();
  PickleValue boolean(bool value);
  PickleValue integer(int64_t value);
  PickleValue floating(double value);
  PickleValue complex(double real, double imaginary);
  PickleValue string(std::string utf8);
  PickleValue bytes(std::string content);
  // `kind` is tuple, list, set, deque or size (PT2_CHECK).
  PickleValue sequence(PickleKind kind, std::span<const PickleValue> items);
  // `kind` is dict or ordered_dict (PT2_CHECK). Keys in insertion order, each once.
  PickleValue dict(PickleKind kind, std::span<const Pair> pairs);
  // `value.tensor` must be defined to be written; of the rest is_parameter, requires_grad and
  // device count ("" is "cpu").
  PickleValue tensor(PickleTensor value);
  // What the function "torch.Size" makes of these arguments.
  PickleValue call(std::string function, std::span<const PickleValue> arguments);
  // An object of the class "torch.nn.Linear", which pickle makes without arguments and then gives
  // its state.
  PickleValue object(std::string class_name, const PickleValue& state);
  // A value of another pickle, with all that it holds; tensors go on sharing their storages. An
  // object that two separate copies share is written twice. O(values below it).
  PickleValue copy(const PickleValue& value);
  // The builder is empty afterwards.
  Pickle finish(const PickleValue& root);

 private:
  template <class T>
  PickleValue add(PickleKind kind, T payload);
  uint32_t own(const PickleValue& value) const;
  std::shared_ptr<PickleGraph> graph_;
};

// A pickle stream, and the storages that its tensors name: storage k has the key "k".
struct PickledBytes {
  std::string bytes;
  std::vector<std::shared_ptr<Storage>> storages;
};

// Protocol 2. Errors `unsupported` for what only its own program can write (objects of protocols
// below 2; built tensors without strided data), `limit` for values nested
// deeper than max_pickle_depth; `where` is empty. O(values).
Result<PickledBytes> write_pickle(const Pickle& pickle, const Limits& limits = {});

enum class TorchSaveFormat : uint8_t {
  v0,  // to 2.6: storages in the order of their keys as text
  v1,  // from 2.7: in the order of the numbers; adds .format_version, .storage_alignment
};

// A torch.save file: the pickle, and every storage whole, which the sink gets as lasting bytes.
// Finishes the sink. `origin` as for ZipWriter. Errors: those of write_pickle, ZipWriter and the
// sink.
Result<void> write_torch_save(const Pickle& pickle, Sink& sink,
                              TorchSaveFormat format = TorchSaveFormat::v1,
                              const Limits& limits = {}, const Origin* origin = nullptr);

}  // namespace pt2

#endif  // PT2_FORMAT_PICKLE_WRITE_H
