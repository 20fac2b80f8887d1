// Files of tensors, whatever their format: .npy, .npz and .safetensors.
#ifndef PT2_TENSOR_FILE_H
#define PT2_TENSOR_FILE_H

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pt2/format/zip.h"
#include "pt2/limits.h"
#include "pt2/result.h"
#include "pt2/tensor.h"

namespace pt2 {

// In the order of the file.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

enum class TensorFormat : uint8_t { npy, npz, safetensors };

// By the ending of the path; error `argument` when it names no format.
Result<TensorFormat> tensor_format_of(const std::string& path);

// Recognises the format by the first bytes, so that the name does not matter. The one tensor of a
// .npy has the name "". Elements stay in the mapped file where the format allows it. Errors: those
// of read_npy, read_npz and read_safetensors; `io`.
Result<NamedTensors> read_tensor_file(const std::string& path, const Limits& limits = {});
Result<NamedTensors> read_tensors(const Record& record, const Limits& limits = {});

// Writes the format that the path's ending names, whole or not at all. Errors: `argument` (unknown
// ending, several tensors in a .npy), `unsupported` (a dtype that the format lacks), `io`.
Result<void> write_tensor_file(const std::string& path, const NamedTensors& tensors);
Result<void> write_tensors(TensorFormat format, const NamedTensors& tensors, Sink& sink);

// Writes tensors as they come, so that only one of them need be in memory. Without finish() there
// is no file.
class TensorWriter {
 public:
  // .npz or .safetensors, by the path's ending. Errors: `argument` for another, `io`.
  static Result<std::unique_ptr<TensorWriter>> create(const std::string& path);
  virtual ~TensorWriter() = default;
  // Errors: `unsupported` (a dtype that the format lacks), `argument` (a name that was added
  // before, or that no zip may hold), which finish() may report as well; `io`.
  virtual Result<void> add(const std::string& name, const Tensor& tensor) = 0;
  virtual Result<void> finish() = 0;
};

}  // namespace pt2

#endif  // PT2_TENSOR_FILE_H
