// The micro-kernel of products of doubles and integers: one tile of results in registers.
#ifndef PT2_KERNELS_DTYPES_DOUBLE_TILE_H
#define PT2_KERNELS_DTYPES_DOUBLE_TILE_H

#include <cstdint>

namespace pt2::kernels {

inline constexpr int64_t kDoubleTileRows = 8;
inline constexpr int64_t kDoubleTileColumns = 16;

// tile[i * kDoubleTileColumns + j] = the sum over k < depth of left[k * kDoubleTileRows + i] *
// right[k * kDoubleTileColumns + j].
void multiply_double_tile(int64_t depth, const double* left, const double* right, double* tile);

// The same for integers, which wrap around, in tiles of kWholeTileRows x kWholeTileColumns.
inline constexpr int64_t kWholeTileRows = 4;
inline constexpr int64_t kWholeTileColumns = 8;
void multiply_whole_tile(int64_t depth, const uint32_t* left, const uint32_t* right,
                         uint32_t* tile);
void multiply_whole_tile(int64_t depth, const uint64_t* left, const uint64_t* right,
                         uint64_t* tile);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_DTYPES_DOUBLE_TILE_H
