// Converts the payloads of a package to the layout of another release.
#ifndef PT2_CONVERT_PAYLOADS_H
#define PT2_CONVERT_PAYLOADS_H

#include "convert/converter.h"

namespace pt2 {

// Converts `contents` to the layout of `era`. Adds a blocker for everything that the layout cannot
// hold.
Result<void> convert_payloads(PackageContents& contents, Era era, const AddBlocker& add);
// Moves constants between the payloads and the program's JSON (schema 1).
Result<void> move_constants(SavedProgram& program, const std::vector<SavedTensor>& added,
                            const std::vector<std::string>& removed);

}  // namespace pt2

#endif  // PT2_CONVERT_PAYLOADS_H
