// Reads and writes the safetensors format: a JSON header, then the bytes of all tensors without
// gaps. Imitates the checks of the reference implementation (huggingface/safetensors,
// safetensors/src/tensor.rs).
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

  // Returns the value of a key of the metadata; null if there is none. Linear in the entries.
  const std::string* find_metadata(std::string_view key) const;
};

// Reads a file. A tensor is a read-only view of the record if it is aligned, as writers make it,
// and a copy otherwise. Errors: `malformed` (no header), `corrupt` (truncated), `invalid` (offsets
// that overlap, leave gaps, exceed the file or do not fit dtype and shape), `unsupported` (a dtype
// that torch lacks), `limit` (a header of over 100 MB, as in the reference). Their `where` is the
// tensor.
Result<Safetensors> read_safetensors(const Record& record);

// Writes tensors in the given order, each row-major. Pads the header so that the first tensor is
// aligned. Finishes the sink. Errors: `unsupported` (complex32 and complex128, which the format
// lacks), `argument` (a duplicate name), those of the sink.
Result<void> write_safetensors(const Safetensors& content, Sink& sink);

}  // namespace pt2

#endif  // PT2_FORMAT_SAFETENSORS_H
