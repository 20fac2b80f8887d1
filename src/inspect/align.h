// Aligns two sequences.
#ifndef PT2_INSPECT_ALIGN_H
#define PT2_INSPECT_ALIGN_H

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace pt2 {

using IndexPairs = std::vector<std::pair<size_t, size_t>>;

// Returns pairs of equal elements, increasing in both sequences; all other elements were added or
// removed. First pairs elements that occur once in each sequence (patience diff). Between them,
// searches for a shortest edit sequence in linear space (Myers). If the sequences have little in
// common, takes the first match that fits instead. O(n log n) for similar sequences.
IndexPairs align(std::span<const uint64_t> before, std::span<const uint64_t> after);

}  // namespace pt2

#endif  // PT2_INSPECT_ALIGN_H
