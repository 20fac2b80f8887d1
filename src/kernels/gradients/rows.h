// Gradients of functions of whole rows: softmax, and normalizations, whose rows each have a mean
// and a factor. T is float or double.
#ifndef PT2_KERNELS_GRADIENTS_ROWS_H
#define PT2_KERNELS_GRADIENTS_ROWS_H

#include <cstdint>

namespace pt2::kernels {

// For y = softmax(x): out = y * (gradient - the sum of gradient * y). `out` overlaps nothing.
template <class T>
void softmax_gradient_row(const T* gradient, const T* y, int64_t count, T* out);
// For y = log_softmax(x): out = gradient - exp(y) * the sum of the gradient.
template <class T>
void log_softmax_gradient_row(const T* gradient, const T* y, int64_t count, T* out);

// Elements that were normalized to (x - center) * factor * weight.
template <class T>
struct NormalizedSpan {
  const T* gradient = nullptr;  // of the results
  const T* x = nullptr;
  const T* weight = nullptr;  // one number per element; null for ones
  int64_t count = 0;
  T center = 0;
};

// The sums of gradient * weight and of gradient * weight * (x - center).
struct NormalizedSums {
  double gradient = 0;
  double product = 0;
};
template <class T>
NormalizedSums sum_normalized(const NormalizedSpan<T>& span);
// out = gradient * weight * factor + (x - center) * slope + shift. With a slope of 0, x is not
// read, because it may be infinite.
template <class T>
void combine_normalized(const NormalizedSpan<T>& span, double factor, double slope, double shift,
                        T* out);
// Adds gradient * (x - center) * factor to `weights` and gradient to `biases`, elementwise. Ignores
// span.weight.
template <class T>
void add_normalized(const NormalizedSpan<T>& span, double factor, double* weights, double* biases);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_GRADIENTS_ROWS_H
