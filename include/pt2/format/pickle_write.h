// Builds pickles from values, and writes pickles as torch.save does. Every pickle that read_pickle
// understands can be written again. If torch.save wrote it with protocol 2, the bytes are the same.
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

// Makes the values of one Pickle. An object that several places share is written once, as in
// Python: use the same PickleValue in each place. Containers accept only values of the same builder
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
  // To be written, `value.tensor` must be defined. Also uses is_parameter, requires_grad and device
  // ("" means "cpu"); ignores the other members.
  PickleValue tensor(PickleTensor value);
  // Makes the result of calling a function such as "torch.Size" with these arguments.
  PickleValue call(std::string function, std::span<const PickleValue> arguments);
  // Makes an object of a class such as "torch.nn.Linear". Unpickling creates it without arguments
  // and then sets its state.
  PickleValue object(std::string class_name, const PickleValue& state);
  // Copies a value of another pickle with everything it contains. Tensors still share their
  // storages. An object that two separate calls copy is written twice. O(values below it).
  PickleValue copy(const PickleValue& value);
  // Returns the approximate memory of all copies so far.
  uint64_t copied_bytes() const { return copied_bytes_; }
  // Returns the pickle with this root. The builder is empty afterwards.
  Pickle finish(const PickleValue& root);

 private:
  template <class T>
  PickleValue add(PickleKind kind, T payload);
  uint32_t own(const PickleValue& value) const;
  std::shared_ptr<PickleGraph> graph_;
  uint64_t copied_bytes_ = 0;
};

// A pickle stream, and the storages of its tensors. Storage k has the key "k".
struct PickledBytes {
  std::string bytes;
  std::vector<std::shared_ptr<Storage>> storages;
};

// Writes a pickle with protocol 2. Errors: `unsupported` for values that only their own program can
// write (objects of protocols below 2; built tensors without strided data); `limit` for values
// nested deeper than max_pickle_depth. Their `where` is empty. O(values).
Result<PickledBytes> write_pickle(const Pickle& pickle, const Limits& limits = {});

enum class TorchSaveFormat : uint8_t {
  v0,  // to 2.6: storages in the text order of their keys
  v1,  // from 2.7: in the numeric order of their keys; adds .format_version, .storage_alignment
};

// Writes a torch.save file: the pickle and every whole storage. The sink gets storages as lasting
// bytes. Finishes the sink. `origin` is as for ZipWriter. Errors: those of write_pickle, ZipWriter
// and the sink.
Result<void> write_torch_save(const Pickle& pickle, Sink& sink,
                              TorchSaveFormat format = TorchSaveFormat::v1,
                              const Limits& limits = {}, const Origin* origin = nullptr);

}  // namespace pt2

#endif  // PT2_FORMAT_PICKLE_WRITE_H
