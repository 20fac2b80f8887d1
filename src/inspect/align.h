// Two sequences side by side.
#ifndef PT2_INSPECT_ALIGN_H
#define PT2_INSPECT_ALIGN_H

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace pt2 {

using IndexPairs = std::vector<std::pair<size_t, size_t>>;

// Pairs of equal elements, rising in both: what was neither added nor removed. Elements that occur
// once in each are found first (patience diff); between them a shortest edit is looked for in
// linear space (Myers), and given up for the first one that fits where the two have little in
// common. O(n log n) for sequences that are alike.
IndexPairs align(std::span<const uint64_t> before, std::span<const uint64_t> after);

}  // namespace pt2

#endif  // PT2_INSPECT_ALIGN_H
