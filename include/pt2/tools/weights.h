// Weights of a file that is to be written anew: replaced, stored in another dtype, shared, left
// out. Each function changes the contents, says what it changed, one line each, and changes nothing
// where it fails.
//
//   PT2_TRY(pt2::PackageContents contents, pt2::package_contents(package));
//   PT2_TRY(auto lines, pt2::cast_weights(contents, "model", {.to = pt2::Dtype::bfloat16}));
//   PT2_TRY_VOID(pt2::save_package(contents, "small.pt2"));
#ifndef PT2_TOOLS_WEIGHTS_H
#define PT2_TOOLS_WEIGHTS_H

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/dtype.h"
#include "pt2/result.h"
#include "pt2/save.h"
#include "pt2/tensor_file.h"

namespace pt2 {

using ChangeLines = std::vector<std::string>;

// The tensors of a program's state dict and constants, by name, as they are stored.
Result<NamedTensors> weights_of(const PackageContents& contents, std::string_view model);

// Takes these tensors for the weights of their names. Errors: `argument` for a name that the
// program has not, for another dtype or other sizes, and, unless `partial`, for a weight without a
// tensor; `unsupported` for programs whose JSON names its payloads (containers, schema 8.11).
Result<ChangeLines> set_weights(PackageContents& contents, std::string_view model,
                                const NamedTensors& tensors, bool partial = false);

struct CastOptions {
  Dtype from = Dtype::float32;
  Dtype to = Dtype::bfloat16;
};
// Stores floating parameters and constants in another dtype. The program computes as before, on
// what is left of them: a node casts each back where it is used. Buffers, and what else a program
// may write to, stay. Errors: as above; `argument` for dtypes that are not floating.
Result<ChangeLines> cast_weights(PackageContents& contents, std::string_view model,
                                 const CastOptions& options);

// One copy of parameters and constants of equal dtype, sizes and bytes, within a program and, since
// 2.9, among programs; of buffers among programs, where they have one name. What a program writes
// to keeps its own.
Result<ChangeLines> share_weights(PackageContents& contents);

struct StripOptions {
  bool unused = false;    // weights that no node uses
  bool metadata = false;  // stack traces, paths, where nodes come from
  bool example_inputs = false;
};
Result<ChangeLines> strip(PackageContents& contents, const StripOptions& options);

// One file of several programs, each under a new name; equal weights once.
// Errors: `argument` for names that are no file names or given twice; `unsupported` for containers.
struct PackedProgram {
  std::string name;
  const Package* package;
  std::string_view model = {};  // in `package`; may be empty where it holds one
};
Result<PackageContents> pack(std::span<const PackedProgram> programs);
// One program of several, called "model".
Result<PackageContents> unpack(const PackageContents& contents, std::string_view model);

}  // namespace pt2

#endif  // PT2_TOOLS_WEIGHTS_H
