// Changes the weights of a file before it is written again: replaces, casts, shares or removes
// them. Each function changes the contents in place and returns one line for each change. If it
// fails, the contents are unchanged.
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

// Returns the stored tensors of a program's state dict and constants, by name.
Result<NamedTensors> weights_of(const PackageContents& contents, std::string_view model);

struct SetOptions {
  bool partial = false;  // weights without a tensor stay as they are
  bool cast = false;     // tensors of other dtypes are converted, as load_state_dict does
};
// Replaces the weights that have the names of `tensors`. Errors: `argument` for an unknown name, a
// different dtype (unless `cast`) or different sizes, different elements for weights that share
// memory, and, unless `partial`, a parameter or persistent buffer without a tensor (one is enough
// for all names of a tied weight); `unsupported` for programs whose JSON names its payloads
// (containers, schema 8.11).
Result<ChangeLines> set_weights(PackageContents& contents, std::string_view model,
                                const NamedTensors& tensors, const SetOptions& options = {});

struct CastOptions {
  Dtype from = Dtype::float32;
  Dtype to = Dtype::bfloat16;
};
// Stores floating-point parameters and constants in another dtype. The program computes in the old
// dtype, on the rounded elements: an added node casts each weight back where it is used. Buffers
// and other tensors that a program may write to are unchanged, and so are tensors with a finite
// element that would become infinite. Errors: as for set_weights; `argument` for dtypes that are
// not floating-point or have 8 bits.
Result<ChangeLines> cast_weights(PackageContents& contents, std::string_view model,
                                 const CastOptions& options);

// Stores one copy of parameters and constants with equal dtype, sizes and bytes, within a program
// and, since 2.9, across programs. Buffers share a copy only across programs and only if they have
// the same name. Tensors over one storage move together or not at all, and stay if a program writes
// to one of them.
Result<ChangeLines> share_weights(PackageContents& contents);

struct StripOptions {
  bool unused = false;    // remove weights that no node uses
  bool metadata = false;  // remove stack traces, paths and other origins of nodes
  bool example_inputs = false;
};
Result<ChangeLines> strip(PackageContents& contents, const StripOptions& options);

// Makes one file of several programs, each under a new name. Equal weights are stored once. Errors:
// `argument` for names that are no file names or occur twice; `unsupported` for containers.
struct PackedProgram {
  std::string name;
  const Package* package;
  std::string_view model = {};  // in `package`; may be empty if it holds one program
};
Result<PackageContents> pack(std::span<const PackedProgram> programs);
// Makes a file of one program of several. The program is called "model".
Result<PackageContents> unpack(const PackageContents& contents, std::string_view model);

}  // namespace pt2

#endif  // PT2_TOOLS_WEIGHTS_H
