// The weights of two files, by name.
#ifndef PT2_INSPECT_WEIGHT_DIFF_H
#define PT2_INSPECT_WEIGHT_DIFF_H

#include <vector>

#include "pt2/package.h"
#include "pt2/tools/diff.h"

namespace pt2 {

// Those that the programs use: a line for each module.
void diff_weights(const Program& before, const Payloads& old_payloads, const Program& after,
                  const Payloads& new_payloads, std::vector<Change>& changes);

}  // namespace pt2

#endif  // PT2_INSPECT_WEIGHT_DIFF_H
