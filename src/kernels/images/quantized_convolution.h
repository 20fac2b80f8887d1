// Convolutions of quantized images (levels of one byte) with quantized or float kernels, to floats
// or to other levels. Images and results are channels last. As convolution.h, but on the products
// of quantized_products.h.
#ifndef PT2_KERNELS_IMAGES_QUANTIZED_CONVOLUTION_H
#define PT2_KERNELS_IMAGES_QUANTIZED_CONVOLUTION_H

#include <cstdint>

#include "kernels/images/convolution.h"
#include "kernels/products/quantized_products.h"
#include "kernels/threads.h"

namespace pt2::kernels {

// Size of the packed kernels in bytes.
int64_t packed_level_kernels_size(const Convolution& convolution);
// `kernels` is dense [out_channels, in_channels / groups, kernel_height, kernel_width]; `packed` is
// aligned to 64 bytes.
void pack_level_kernels(const Convolution& convolution, const int8_t* kernels, int8_t* packed,
                        ThreadPool* pool = nullptr);

struct QuantizedConvolution {
  const uint8_t* images = nullptr;  // dense
  bool is_signed = false;           // levels are int8, else uint8
  // A level stands for the number (level - zero) * scale; `zero` is a level, which also pads
  // images.
  float scale = 1;
  int64_t zero = 0;
  const int8_t* packed = nullptr;
  const float* factors = nullptr;  // scales of the output channels' kernels
  float* out = nullptr;            // dense
  Epilogue epilogue;               // columns are output channels, rows output pixels
  // If not null, results are converted part by part to levels in `out_levels`, and `out` is not
  // used.
  const Requantization* requantization = nullptr;
  uint8_t* out_levels = nullptr;  // dense
  float* scratch = nullptr;       // quantized_convolution_scratch_size floats
};
// `threads` is 0 if results stay floats.
int64_t quantized_convolution_scratch_size(const Convolution& convolution, int threads);
// `convolution` is not planar.
void convolve_quantized(const Convolution& convolution, const QuantizedConvolution& operands,
                        ThreadPool* pool = nullptr);

// The same with float kernels, packed by pack_kernels(), for convolutions whose integer sums would
// be short: some rows of the images are converted to floats at a time.
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
