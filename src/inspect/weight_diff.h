// The weights of two files, by name.
#ifndef PT2_INSPECT_WEIGHT_DIFF_H
#define PT2_INSPECT_WEIGHT_DIFF_H

#include <vector>

#include "pt2/package.h"
#include "pt2/tools/diff.h"

namespace pt2 {

struct WeightSide {
  const Program& program;
  const Payloads& payloads;
};

// Those that the programs name: a line for each module. With `semantic` those that no node reads
// are left out.
void diff_weights(const WeightSide& before, const WeightSide& after, bool semantic,
                  std::vector<Change>& changes);

}  // namespace pt2

#endif  // PT2_INSPECT_WEIGHT_DIFF_H
