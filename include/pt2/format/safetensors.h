// The safetensors format: a JSON header, then the bytes of all tensors without gaps. Imitates the
// checks of the reference implementation (huggingface/safetensors, safetensors/src/tensor.rs).
#ifndef PT2_FORMAT_SAFETENSORS_H
#define PT2_FORMAT_SAFETENSORS_H

#include <string>
#include <utility>
#include <vector>

#include "pt2/format/zip.h"
#include "pt2/result.h"
#include "pt2/tensor_file.h"

namespace pt2 {

struct Safetensors {
  NamedTensors tensors;
  std::vector<std::pair<std::string, std::string>> metadata;

  // Null when there is none. Linear in the entries.
  const std::string* find_metadata(std::string_view key) const;
};

// Tensors are read-only views of the record where they are aligned, as writers make them, and
// copied otherwise. Errors: `malformed` (no header), `corrupt` (cut off), `invalid` (offsets that
// overlap, leave gaps, leave the file or do not fit dtype and shape), `unsupported` (a dtype that
// torch lacks), `limit` (a header of over 100 MB, as in the reference). `where` is the tensor.
Result<Safetensors> read_safetensors(const Record& record);

// In the given order, each tensor row-major; the header is padded so that the first one is aligned.
// Finishes the sink. Errors: `unsupported` (complex32 and the fnuz float8s), `argument` (a name
// twice), the sink's.
Result<void> write_safetensors(const Safetensors& content, Sink& sink);

}  // namespace pt2

#endif  // PT2_FORMAT_SAFETENSORS_H
