#ifndef PT2_TENSOR_FILES_SAFETENSORS_HEADER_H
#define PT2_TENSOR_FILES_SAFETENSORS_HEADER_H

#include "pt2/safetensors.h"

namespace pt2::tensor_files {

// All that comes before the elements; these follow in order and without gaps. Looks at dtypes and
// sizes alone.
Result<void> write_safetensors_header(const Safetensors& content, Sink& sink);

}  // namespace pt2::tensor_files

#endif  // PT2_TENSOR_FILES_SAFETENSORS_HEADER_H
