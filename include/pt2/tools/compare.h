// Compares a computed result with PyTorch's, as torch.testing.assert_close does
// (torch/testing/_comparison.py), or compares both with a more precise reference.
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
// assert_close's own: 1.3e-6 and 1e-5 for float32; nothing for integers and float8.
Tolerance default_tolerance(Dtype dtype);

struct CompareOptions {
  std::optional<double> relative;  // instead of the dtype's own
  std::optional<double> absolute;
  bool values = true;  // false: dtype and sizes alone, for results of random operators
  // Decibels. Instead of tolerances for each element, for floating and complex values: the norm of
  // what is expected over that of the difference, as torch.ao.ns measures it (compute_sqnr). For
  // quantized programs, where one rounding elsewhere moves an element by a whole step.
  std::optional<double> min_sqnr{};
};

struct Comparison {
  std::string difference;    // empty when equal
  double largest_error = 0;  // of finite elements: |found - expected|
  // The same as a share of |expected|, of elements that are not expected to be zero.
  double largest_relative_error = 0;
  // With a reference: the largest errors of `found` and of `expected` against it.
  std::optional<double> found_error;
  std::optional<double> expected_error;
  // Where `expected` is so far from the reference that its rule allows any value: says so.
  std::string remark{};
  // 20 * log10(norm(expected) / norm(expected - found)): with `min_sqnr`, and where floating or
  // complex elements differ. Infinite without noise, -infinite with noise and no signal; nothing
  // where elements that are not finite differ, for which there is no such figure.
  std::optional<double> sqnr{};
  // Of floating tensors whose last dim has at least two elements: the rows along that dim, and the
  // rows whose largest element lies elsewhere than in `expected`. A tie within the tolerance does
  // not count as a difference.
  int64_t rows = 0;
  int64_t argmax_differs = 0;

  bool equal() const { return difference.empty(); }
};

// Kinds, dtypes and sizes must be the same; strides may differ. Integers, bools and text are
// compared exactly; NaN equals NaN at the same place. A `reference` (the tensor's sizes, in float64
// or complex128) has the last word on elements beyond the tolerance: they differ only where their
// error against it exceeds twice the largest error of `expected` plus one rounding of the largest
// reference value. With `min_sqnr` neither tolerances nor reference decide: elements that are not
// finite must be the same, and the noise of the others must be that small. Linear in the elements.
Comparison compare(const Value& found, const Value& expected, const CompareOptions& options = {},
                   const Tensor* reference = nullptr);

}  // namespace pt2

#endif  // PT2_TOOLS_COMPARE_H
