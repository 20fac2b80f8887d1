// Hashes of files, programs and weights. Hashes of programs do not change if only names and
// spelling change. Use them for caches and signatures, and to find out whether two files are the
// same model.
#ifndef PT2_TOOLS_HASH_H
#define PT2_TOOLS_HASH_H

#include <string>

#include "pt2/ir/program.h"
#include "pt2/package.h"
#include "pt2/result.h"

namespace pt2 {

// Each function returns a SHA-256 as sixty-four hexadecimal digits.

// Returns the hash of the bytes of the file.
std::string hash_file(const Package& package);
// Returns the hash of the computation: operators, constants, data flow, dtypes and sizes of the
// inputs, ranges of symbols, the roles of inputs and outputs. It does not depend on names of values
// and symbols, on the order of independent nodes (nodes are dependent if they share memory that one
// of them writes to), on metadata, on guards (which exist since 2.10), or on the spelling of a
// release. One module exported by two releases has one hash if they trace the same operators.
// Linear in the program.
std::string hash_program(const Program& program);
// Returns the hash of the parameters, buffers and constants that nodes read: names, dtypes, sizes
// and elements, but not strides, storages and records. Errors: those of payloads; `unsupported` for
// tensors without elements. Linear in the weights.
Result<std::string> hash_weights(const Program& program, const Payloads& payloads);

}  // namespace pt2

#endif  // PT2_TOOLS_HASH_H
