// Compares a computed result with the expected result of PyTorch, as torch.testing.assert_close
// does (torch/testing/_comparison.py). A more precise reference may decide instead.
#ifndef PT2_TOOLS_COMPARE_H
#define PT2_TOOLS_COMPARE_H

#include <optional>
#include <string>

#include "pt2/dtype.h"
#include "pt2/tensor.h"
#include "pt2/value.h"

namespace pt2 {

// Elements are close when |found - expected| <= absolute + relative * |expected|.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};
// Returns the default tolerance of assert_close: 1.3e-6 and 1e-5 for float32; zero for integers and
// float8.
Tolerance default_tolerance(Dtype dtype);

struct CompareOptions {
  std::optional<double> relative;  // replaces the default of the dtype
  std::optional<double> absolute;
  bool values = true;  // false: compare only dtype and sizes, for results of random operators
  // The minimal signal-to-noise ratio in decibels, in place of tolerances for elements, for
  // floating and complex values: the norm of the expected tensor over the norm of the difference,
  // as in torch.ao.ns (compute_sqnr). For quantized programs, in which one different rounding moves
  // an element by a whole quantization step.
  std::optional<double> min_sqnr{};
};

struct Comparison {
  std::string difference;    // empty if equal
  double largest_error = 0;  // the largest |found - expected| of finite elements
  // The largest |found - expected| / |expected|, of elements whose expected value is not zero.
  double largest_relative_error = 0;
  // With a reference: the largest errors of `found` and of `expected` against it.
  std::optional<double> found_error;
  std::optional<double> expected_error;
  // A note that `expected` is so far from the reference that the reference's rule allows any value.
  // Empty otherwise.
  std::string remark{};
  // 20 * log10(norm(expected) / norm(expected - found)). Set with `min_sqnr`, and if floating or
  // complex elements differ. Infinite without noise, -infinite with noise and no signal. Nothing if
  // non-finite elements differ, for which the ratio is not defined.
  std::optional<double> sqnr{};
  // For floating tensors whose last dim has at least two elements: the number of rows along that
  // dim, and the number of rows whose largest element is at another index than in `expected`. A tie
  // within the tolerance does not count as a difference.
  int64_t rows = 0;
  int64_t argmax_differs = 0;

  bool equal() const { return difference.empty(); }
};

// Compares `found` with `expected`. Kinds, dtypes and sizes must be equal; strides may differ.
// Integers, bools, texts and enumerators are compared exactly, lists item by item, objects not at
// all. NaN equals NaN at the same index. A `reference` (same sizes, float64 or complex128) decides
// about elements beyond the tolerance: they differ only if their error against it exceeds twice the
// largest error of `expected` plus one rounding of the largest reference value. With `min_sqnr`,
// tolerances and reference are not used: non-finite elements must be equal, and the noise of the
// others must not exceed the ratio. Linear in the elements.
Comparison compare(const Value& found, const Value& expected, const CompareOptions& options = {},
                   const Tensor* reference = nullptr);

}  // namespace pt2

#endif  // PT2_TOOLS_COMPARE_H
