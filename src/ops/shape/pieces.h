// Bounds the number of parts into which a tensor is split.
#ifndef PT2_OPS_SHAPE_PIECES_H
#define PT2_OPS_SHAPE_PIECES_H

#include "pt2/result.h"

namespace pt2::ops {

// Views need no elements, but each needs memory of its own. No real graph has this many values.
inline Result<void> check_pieces(int64_t count) {
  constexpr int64_t kMaxPieces = 1'000'000;
  if (count <= kMaxPieces) return {};
  return Error{
      ErrorCode::limit,
      "found " + std::to_string(count) + " pieces, expected at most " + std::to_string(kMaxPieces),
      ""};
}

}  // namespace pt2::ops

#endif  // PT2_OPS_SHAPE_PIECES_H
