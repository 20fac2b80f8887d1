// Reads and writes NumPy's array files: .npy holds one array, .npz is a zip of .npy files. Imitates
// numpy/lib/format.py, but without pickles: object arrays are refused.
#ifndef PT2_FORMAT_NPY_H
#define PT2_FORMAT_NPY_H

#include "pt2/format/zip.h"
#include "pt2/limits.h"
#include "pt2/result.h"
#include "pt2/tensor.h"
#include "pt2/tensor_file.h"

namespace pt2 {

// Reads a .npy of version 1 to 3. An array in Fortran order becomes a tensor with column-major
// strides. The elements stay in the record if they are little-endian and aligned, and are copied
// otherwise. Errors: `malformed`, `corrupt` (truncated), `unsupported` (structured and object
// arrays, dtypes that torch lacks).
Result<Tensor> read_npy(const Record& record);

// Writes a .npy in C order, with the bytes that numpy.save writes: version 1, or version 2 if the
// header is long. Error `unsupported` for dtypes that NumPy lacks (bfloat16, float8, complex32):
// safetensors has names for most of them.
Result<void> write_npy(const Tensor& tensor, Sink& sink);

// Reads the arrays of a .npz, stored or deflated. Their names are those of the entries without
// ".npy". Errors: those of ZipReader and read_npy; `unsupported` for other entries.
Result<NamedTensors> read_npz(const Record& record, const Limits& limits = {});

// Writes a .npz without compression, as numpy.savez. Finishes the sink. Errors: those of write_npy;
// `argument` for names that no zip may hold.
Result<void> write_npz(const NamedTensors& tensors, Sink& sink);

}  // namespace pt2

#endif  // PT2_FORMAT_NPY_H
