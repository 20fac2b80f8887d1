// Reads the tensors of a file that torch.save wrote.
#ifndef PT2_TENSOR_FILES_STATE_DICT_H
#define PT2_TENSOR_FILES_STATE_DICT_H

#include "pt2/format/zip.h"
#include "pt2/limits.h"
#include "pt2/result.h"
#include "pt2/tensor_file.h"

namespace pt2::tensor_files {

// True for a file of torch.save, in its zip form (since 1.6) or the one before.
bool is_torch_save(const Record& record, const Limits& limits);

// Reads a dict of tensors (a state dict), or one tensor, whose name becomes "". In a checkpoint, a
// dict of other things, it is the dict under `key`, or the only state dict. Errors: those of
// read_torch_save; `argument` if there is no such key, or more than one state dict and no key;
// `unsupported` for other values, and for tensors without plain elements (sparse, quantized);
// `limit` for views of far more elements than the file holds. Their `where` is the name.
Result<NamedTensors> read_state_dict(const Record& record, std::string_view key,
                                     const Limits& limits);

}  // namespace pt2::tensor_files

#endif  // PT2_TENSOR_FILES_STATE_DICT_H
