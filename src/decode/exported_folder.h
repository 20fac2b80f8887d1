// Folders written by the exporter of Transformers (transformers/exporters/base.py,
// ExportedModel.save_pretrained): programs, a manifest that names them, settings of the model and
// of generation.
#ifndef PT2_DECODE_EXPORTED_FOLDER_H
#define PT2_DECODE_EXPORTED_FOLDER_H

#include <optional>
#include <string>
#include <vector>

#include "pt2/decoder.h"

namespace pt2::decode {

struct FolderProgram {
  std::string name{};          // "prefill"
  std::string path{};          // path of the file
  std::string architecture{};  // "LlamaForCausalLM"; empty if the manifest does not say
};

struct ExportedFolder {
  std::string format{};  // "dynamo"; empty without a manifest
  std::vector<FolderProgram> programs{};
  GenerationSettings settings{};
  // From config.json.
  std::optional<std::string> model_type{};
  std::optional<int64_t> sliding_window{};
};

// True if `path` is a folder.
bool is_folder(const std::string& path);

// Without a manifest the programs are the folder's .pt2 files, named after the files. Opens no
// program. Errors: `io`; `malformed` for invalid JSON or unexpected content; `invalid` for a
// manifest that names a file outside the folder; `argument` if there is no program; `unsupported`
// for other formats (onnx, openvino, executorch).
Result<ExportedFolder> read_exported_folder(const std::string& path);

}  // namespace pt2::decode

#endif  // PT2_DECODE_EXPORTED_FOLDER_H
