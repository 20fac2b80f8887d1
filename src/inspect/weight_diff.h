// Compares the weights of two files by name.
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

// Compares the weights of both files, and adds one line for each module and for each object, such
// as packed weights or a generator. With `semantic`, omits weights that no node reads.
void diff_weights(const WeightSide& before, const WeightSide& after, bool semantic,
                  std::vector<Change>& changes);

}  // namespace pt2

#endif  // PT2_INSPECT_WEIGHT_DIFF_H
