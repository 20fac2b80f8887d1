// The innermost part of products of doubles: one tile of results in registers.
#ifndef PT2_KERNELS_DTYPES_DOUBLE_TILE_H
#define PT2_KERNELS_DTYPES_DOUBLE_TILE_H

#include <cstdint>

namespace pt2::kernels {

inline constexpr int64_t kDoubleTileRows = 8;
inline constexpr int64_t kDoubleTileColumns = 16;

// tile[i * kDoubleTileColumns + j] = the sum over k < depth of left[k * kDoubleTileRows + i] *
// right[k * kDoubleTileColumns + j].
void multiply_double_tile(int64_t depth, const double* left, const double* right, double* tile);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_DTYPES_DOUBLE_TILE_H
