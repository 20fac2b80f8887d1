// The payloads of a package in the layout of another release.
#pragma once

#include "convert/converter.h"

namespace pt2 {

// Changes `contents`, read from `package`, to `era`. What that layout cannot hold is added.
Result<void> convert_payloads(const Package& package, PackageContents& contents, Era era,
                              const AddBlocker& add);
// Moves constants between the payloads and the program's JSON (schema 1), and those in `moved` from
// state dict to constants.
Result<void> move_constants(const Package& package, SavedProgram& program,
                            const std::vector<SavedTensor>& added,
                            const std::vector<std::string>& removed);

}  // namespace pt2
