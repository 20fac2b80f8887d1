// Weights in several files, as Hugging Face stores large models: a folder of shards, and an index,
// JSON that names the shard of each tensor.
#ifndef PT2_TENSOR_FILES_WEIGHT_INDEX_H
#define PT2_TENSOR_FILES_WEIGHT_INDEX_H

#include <string>

#include "pt2/format/zip.h"
#include "pt2/limits.h"
#include "pt2/result.h"
#include "pt2/tensor_file.h"

namespace pt2::tensor_files {

// Reads the tensors that the index in `record`, the file at `path`, names. Errors: `malformed` for
// other JSON, `invalid` for a shard outside the folder, that is no file, or without a tensor
// that the index puts there; those of read_tensors, with the shard as their place.
Result<NamedTensors> read_weight_index(const Record& record, const std::string& path,
                                       const Limits& limits);

// Returns the file of a folder that holds its weights, or their index, by the names that
// transformers and diffusers give them. Error `argument` if there is none.
Result<std::string> find_weights_in(const std::string& folder);

}  // namespace pt2::tensor_files

#endif  // PT2_TENSOR_FILES_WEIGHT_INDEX_H
