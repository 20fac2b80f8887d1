// Bounds the number of parts into which a tensor is split.
#ifndef PT2_OPS_SHAPE_PIECES_H
#define PT2_OPS_SHAPE_PIECES_H

#include <algorithm>
#include <cstdint>
#include <string>

#include "pt2/result.h"

namespace pt2::ops {

// Tensors need memory for their sizes and strides, whatever they hold. No real list of tensors has
// this many dims.
inline Result<void> check_dims_together(int64_t dims) {
  constexpr int64_t kMost = 8'000'000;
  if (dims <= kMost) return {};
  return Error{ErrorCode::limit,
               "found a list of tensors with " + std::to_string(dims) +
                   " dims together, expected at most " + std::to_string(kMost),
               ""};
}

// Views need no elements, but each needs memory of its own. No real graph has this many values.
inline Result<void> check_pieces(int64_t count, int64_t rank) {
  constexpr int64_t kMaxPieces = 1'000'000;
  if (count <= kMaxPieces) return check_dims_together(count * std::min(rank, kMaxPieces));
  return Error{
      ErrorCode::limit,
      "found " + std::to_string(count) + " pieces, expected at most " + std::to_string(kMaxPieces),
      ""};
}

}  // namespace pt2::ops

#endif  // PT2_OPS_SHAPE_PIECES_H
