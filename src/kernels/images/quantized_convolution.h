// Convolutions of quantized images, levels of one byte, with quantized kernels or with floats, to
// floats or to other levels. Images and results lie channels last. As convolution.h, on the
// products of quantized_products.h.
#ifndef PT2_KERNELS_IMAGES_QUANTIZED_CONVOLUTION_H
#define PT2_KERNELS_IMAGES_QUANTIZED_CONVOLUTION_H

#include <cstdint>

#include "kernels/images/convolution.h"
#include "kernels/products/quantized_products.h"
#include "kernels/threads.h"

namespace pt2::kernels {

// How many bytes packed kernels take.
int64_t packed_level_kernels_size(const Convolution& convolution);
// `kernels` is dense [out_channels, in_channels / groups, kernel_height, kernel_width]; `packed`
// lies at a multiple of 64 bytes.
void pack_level_kernels(const Convolution& convolution, const int8_t* kernels, int8_t* packed,
                        ThreadPool* pool = nullptr);

struct QuantizedConvolution {
  const uint8_t* images = nullptr;  // dense
  bool is_signed = false;           // of int8, else of uint8
  // The number of a level is (level - zero) * scale; `zero` is a level, and what lies around
  // images.
  float scale = 1;
  int64_t zero = 0;
  const int8_t* packed = nullptr;
  const float* factors = nullptr;  // scales of the output channels' kernels
  float* out = nullptr;            // dense
  Epilogue epilogue;               // columns are output channels, rows output pixels
  // Or null. Else results become these levels, out_levels, in place of `out`, part by part.
  const Requantization* requantization = nullptr;
  uint8_t* out_levels = nullptr;  // dense
  float* scratch = nullptr;       // quantized_convolution_scratch_size floats
};
// `threads` is 0 where results stay floats.
int64_t quantized_convolution_scratch_size(const Convolution& convolution, int threads);
// `convolution` is not planar.
void convolve_quantized(const Convolution& convolution, const QuantizedConvolution& operands,
                        ThreadPool* pool = nullptr);

// The same with kernels of floats, packed as pack_kernels() does, where sums of whole numbers would
// be short: some rows of the images become floats at a time.
struct LevelConvolution {
  const uint8_t* images = nullptr;
  bool is_signed = false;
  Levels numbers{};  // scale and back_zero
  const float* packed = nullptr;
  float* out = nullptr;
  Epilogue epilogue;
  const Requantization* requantization = nullptr;
  uint8_t* out_levels = nullptr;
  float* scratch = nullptr;  // level_convolution_scratch_size floats
};
int64_t level_convolution_scratch_size(const Convolution& convolution, int threads);
void convolve_levels(const Convolution& convolution, const LevelConvolution& operands,
                     ThreadPool* pool = nullptr);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_IMAGES_QUANTIZED_CONVOLUTION_H
