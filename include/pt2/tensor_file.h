// Reads and writes files of tensors in the formats .npy, .npz and .safetensors, and reads state
// dicts and checkpoints of torch.save, and folders of Hugging Face.
#ifndef PT2_TENSOR_FILE_H
#define PT2_TENSOR_FILE_H

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pt2/format/zip.h"
#include "pt2/limits.h"
#include "pt2/result.h"
#include "pt2/tensor.h"

namespace pt2 {

// Tensors with their names, in the order of the file.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

enum class TensorFormat : uint8_t { npy, npz, safetensors };

// Returns the format for the ending of the path. Error `argument` for other endings.
Result<TensorFormat> tensor_format_of(const std::string& path);

// Read the tensors of a file. The format is recognised by the first bytes, not by the name. The
// only tensor of a .npy has the name "". Elements stay in the mapped file if the format allows it.
// A file of torch.save must hold a dict of tensors, one tensor, or a checkpoint: a dict with a dict
// of tensors in it, which is taken. `key` names the one to take if there are several. Nothing in it
// is executed.
// The path may also be that of an index such as model.safetensors.index.json, whose files are read,
// or of a folder with such an index or with model.safetensors or pytorch_model.bin.
// Errors: those of read_npy, read_npz, read_safetensors and read_torch_save; `argument` if `key` is
// missing or wrong; `unsupported` for other values in a file of torch.save; `invalid` for an index
// that does not fit its files; `io`.
Result<NamedTensors> read_tensor_file(const std::string& path, const Limits& limits = {},
                                      std::string_view key = {});
Result<NamedTensors> read_tensors(const Record& record, const Limits& limits = {},
                                  std::string_view key = {});

// Write tensors, a file atomically and in the format for its ending. Errors: `argument` (unknown
// ending, several tensors in a .npy, a duplicate name, a tensor without memory), `unsupported` (a
// dtype that the format lacks), `io`.
Result<void> write_tensor_file(const std::string& path, const NamedTensors& tensors);
Result<void> write_tensors(TensorFormat format, const NamedTensors& tensors, Sink& sink);

// Writes tensors one after another, so that only one must be in memory. The file exists only after
// finish().
class TensorWriter {
 public:
  // Creates a writer for .npz or .safetensors, by the ending of the path. Errors: `argument` for
  // other endings, `io`.
  static Result<std::unique_ptr<TensorWriter>> create(const std::string& path);
  virtual ~TensorWriter() = default;
  // Adds a tensor. Errors: `unsupported` (a dtype that the format lacks), `argument` (a tensor
  // without memory, a duplicate name, or one that no zip may hold), `io`. finish() may report a
  // name or dtype instead.
  virtual Result<void> add(const std::string& name, const Tensor& tensor) = 0;
  virtual Result<void> finish() = 0;
};

}  // namespace pt2

#endif  // PT2_TENSOR_FILE_H
