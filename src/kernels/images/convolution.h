// Convolutions of float32 images. Results are channels last: the channels of output pixel p =
// (image * out_height + y) * out_width + x are contiguous at out + p * out_stride. Images are
// channels last or planar (PyTorch's contiguous layout), with any strides of images and rows.
// Planar images are for the first layer, whose few channels do not justify a transposition.
//
// Kernels are packed beforehand. A 1x1 convolution is a product whose left operand is the image.
// Others gather windows into the product's tiles, a few rows at a time. Convolutions of few
// channels read windows in place (direct.h). Groups of one input and one output channel, or of
// four, have their own loops (depthwise.h).
#ifndef PT2_KERNELS_IMAGES_CONVOLUTION_H
#define PT2_KERNELS_IMAGES_CONVOLUTION_H

#include <algorithm>
#include <cstdint>

#include "kernels/products/product.h"
#include "kernels/threads.h"

namespace pt2::kernels {

struct Convolution {
  int64_t batch = 1;
  int64_t in_height = 1, in_width = 1, in_channels = 1;
  int64_t out_height = 1, out_width = 1, out_channels = 1;
  int64_t kernel_height = 1, kernel_width = 1;
  int64_t stride_y = 1, stride_x = 1;
  int64_t dilation_y = 1, dilation_x = 1;
  // Zeros before the first row and column; the sizes determine the zeros after the last ones.
  int64_t pad_top = 0, pad_left = 0;
  int64_t groups = 1;  // divides both numbers of channels
  // True if the pixels of a row are contiguous (pixel stride 1) instead of the channels of a pixel
  // (channel stride 1). Determines the order in which kernels are packed.
  bool planar = false;
};

// Number of elements of a window that a kernel takes, which are in the channels of its group.
inline int64_t group_depth(const Convolution& convolution) {
  return convolution.in_channels / convolution.groups * convolution.kernel_height *
         convolution.kernel_width;
}

struct Images {
  const float* data = nullptr;
  int64_t image_stride = 0;
  int64_t row_stride = 0;
  int64_t pixel_stride = 0;    // 1 if planar
  int64_t channel_stride = 1;  // 1 if not planar
};

// The range of kernel elements, in one dimension, that are inside an image of `size`; the first
// kernel element is at image element `start`.
inline int64_t first_inside(int64_t start, int64_t dilation, int64_t kernel) {
  return start >= 0 ? 0 : std::min(kernel, (-start + dilation - 1) / dilation);
}
inline int64_t end_inside(int64_t start, int64_t dilation, int64_t kernel, int64_t size) {
  return start >= size ? 0 : std::min(kernel, (size - start + dilation - 1) / dilation);
}

// Size of the packed kernels in floats.
int64_t packed_kernels_size(const Convolution& convolution);

// `kernels` is dense [out_channels, in_channels / groups, kernel_height, kernel_width]. `packed`
// has packed_kernels_size floats and is best aligned to 64 bytes.
void pack_kernels(const Convolution& convolution, const float* kernels, float* packed,
                  ThreadPool* pool = nullptr);

struct ConvolutionOperands {
  Images images;
  const float* packed = nullptr;  // kernels
  float* out = nullptr;           // overlaps no operand except an addend equal to it
  int64_t out_stride = 0;
  Epilogue epilogue;  // columns are output channels, rows output pixels
};

void convolve(const Convolution& convolution, const ConvolutionOperands& operands,
              ThreadPool* pool = nullptr);

// The gradient of the kernels of one group and one image: out[r, k] += sum over the pixels p of the
// result of gradients[r, p] times element k of the window of p; row r begins at gradients + r *
// pixels. The elements of a window are [channel, y, x] if the image is planar, else [y, x,
// channel]. Adds in the order of pixels. `scratch` has kernel_gradient_scratch floats.
int64_t kernel_gradient_scratch();
void add_kernel_gradient(const Convolution& convolution, const Images& image,
                         const float* gradients, int64_t rows, float* out, float* scratch);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_IMAGES_CONVOLUTION_H
