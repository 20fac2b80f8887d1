#ifndef PT2_TENSOR_FILES_SAFETENSORS_HEADER_H
#define PT2_TENSOR_FILES_SAFETENSORS_HEADER_H

#include "pt2/format/safetensors.h"

namespace pt2::tensor_files {

// Writes everything before the elements, which follow in order and without gaps. Uses only the
// dtypes and sizes of the tensors.
Result<void> write_safetensors_header(const Safetensors& content, Sink& sink);

}  // namespace pt2::tensor_files

#endif  // PT2_TENSOR_FILES_SAFETENSORS_HEADER_H
