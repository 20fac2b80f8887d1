// Gradients of functions of rows as a whole: softmax, and normalization of whatever is a row with a
// mean and a factor of its own. T is float or double.
#ifndef PT2_KERNELS_GRADIENTS_ROWS_H
#define PT2_KERNELS_GRADIENTS_ROWS_H

#include <cstdint>

namespace pt2::kernels {

// Of y = softmax(x): out = y * (gradient - the sum of gradient * y). `out` overlaps nothing.
template <class T>
void softmax_gradient_row(const T* gradient, const T* y, int64_t count, T* out);
// Of y = log_softmax(x): out = gradient - exp(y) * the sum of the gradient.
template <class T>
void log_softmax_gradient_row(const T* gradient, const T* y, int64_t count, T* out);

// Elements that were normalized: (x - center) times a factor, times their weights.
template <class T>
struct NormalizedSpan {
  const T* gradient = nullptr;  // of the results
  const T* x = nullptr;
  const T* weight = nullptr;  // a number for each element; null for ones
  int64_t count = 0;
  T center = 0;
};

// Sums of the gradient times the weights, and of that times (x - center).
struct NormalizedSums {
  double gradient = 0;
  double product = 0;
};
template <class T>
NormalizedSums sum_normalized(const NormalizedSpan<T>& span);
// out = gradient * weight * factor + (x - center) * slope + shift; a slope of 0 leaves out x, which
// may be infinite.
template <class T>
void combine_normalized(const NormalizedSpan<T>& span, double factor, double slope, double shift,
                        T* out);
// Adds the gradient times (x - center) * factor to `weights`, the gradient to `biases`, element by
// element; the span's weights are not looked at.
template <class T>
void add_normalized(const NormalizedSpan<T>& span, double factor, double* weights, double* biases);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_GRADIENTS_ROWS_H
