// How many parts a tensor may be taken into.
#pragma once

#include "pt2/result.h"

namespace pt2::ops {

// Views cost no elements, but memory of their own; no graph has so many values.
inline Result<void> check_pieces(int64_t count) {
  constexpr int64_t kMaxPieces = 1'000'000;
  if (count <= kMaxPieces) return {};
  return Error{ErrorCode::limit,
               "found " + std::to_string(count) + " pieces, expected at most " +
                   std::to_string(kMaxPieces),
               ""};
}

}  // namespace pt2::ops
