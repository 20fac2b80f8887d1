// What a file is, as numbers that stay the same where only names and spelling change: for caches,
// signatures, and the question whether two files are one model.
#ifndef PT2_TOOLS_HASH_H
#define PT2_TOOLS_HASH_H

#include <string>

#include "pt2/ir/program.h"
#include "pt2/package.h"
#include "pt2/result.h"

namespace pt2 {

// SHA-256, sixty-four hexadecimal digits each.

// Of the file's bytes.
std::string hash_file(const Package& package);
// Of what the program computes: operators, constants, connections, dtypes and sizes of its inputs,
// ranges of its symbols, the roles of inputs and outputs. Not of names of values and symbols, the
// order of independent nodes (nodes that share memory which one of them writes to are not),
// metadata, guards (which are of 2.10 on), nor of how a release spells it: the same module exported
// by two releases has one hash where they trace the same operators. Linear in the program.
std::string hash_program(const Program& program);
// Of the parameters, buffers and constants that nodes read: names, dtypes, sizes, elements;
// not of strides, storages, records. Error: of payloads; `unsupported` for tensors without
// elements. Linear in the weights.
Result<std::string> hash_weights(const Program& program, const Payloads& payloads);

}  // namespace pt2

#endif  // PT2_TOOLS_HASH_H
