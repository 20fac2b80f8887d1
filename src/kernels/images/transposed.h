// Transposed convolutions of float32 signals, images and volumes; inputs and results are channels
// last. Each input pixel contributes a window of the result, and overlapping windows are added. The
// windows of some rows are a product of the pixels and the kernels; each pixel of the result
// gathers its sum. If each channel has a kernel of its own, each pixel gathers products instead.
#ifndef PT2_KERNELS_IMAGES_TRANSPOSED_H
#define PT2_KERNELS_IMAGES_TRANSPOSED_H

#include <array>
#include <cstdint>

#include "kernels/products/product.h"
#include "kernels/threads.h"

namespace pt2::kernels {

struct TransposedConvolution {
  using Extents = std::array<int64_t, 3>;  // depth, height, width; a signal runs along the height
  int64_t batch = 1;
  int64_t in_channels = 1, out_channels = 1;
  int64_t groups = 1;  // divides both
  Extents in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1};
  Extents stride{1, 1, 1}, dilation{1, 1, 1};
  Extents pad{0, 0, 0};  // elements cropped before the result's first element
};

// Estimates the time of gathering, in nanoseconds, for few channels: then it exceeds that of the
// products.
int64_t gather_work(const TransposedConvolution& shape);

// Sizes in floats of the packed kernels, and of the scratch that holds windows.
int64_t packed_transposed_size(const TransposedConvolution& shape);
int64_t transposed_scratch_size(const TransposedConvolution& shape);

// `kernels` is dense [in_channels, out_channels / groups, depth, height, width].
void pack_transposed(const TransposedConvolution& shape, const float* kernels, float* packed,
                     ThreadPool* pool = nullptr);

// Images are dense; bias has one number per output channel, or is null.
void convolve_transposed(const TransposedConvolution& shape, const float* images,
                         const float* packed, const float* bias, Activation activation, float* out,
                         float* scratch, ThreadPool* pool = nullptr);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_IMAGES_TRANSPOSED_H
