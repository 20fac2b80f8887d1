// Is one result the other? Compares what a program gave with what PyTorch gave, as
// torch.testing.assert_close does (torch/testing/_comparison.py), or with a better answer than
// both.
#ifndef PT2_COMPARE_H
#define PT2_COMPARE_H

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
};

struct Comparison {
  std::string difference;    // empty when equal
  double largest_error = 0;  // of finite elements: |found - expected|
  // Against a reference: the largest error of each.
  std::optional<double> found_error;
  std::optional<double> expected_error;
  // Of floating tensors: rows along the last dim of at least two elements, and those whose largest
  // element lies at another place than expected, where that is no tie within the tolerance.
  int64_t rows = 0;
  int64_t argmax_differs = 0;

  bool equal() const { return difference.empty(); }
};

// Kinds, dtypes and sizes must be the same; strides may differ. Integers, bools and text are
// compared exactly; NaN equals NaN at the same place. With a `reference` of the tensor's sizes in
// float64 or complex128, that decides instead of the tolerance: the largest error of `found` may be
// twice that of `expected` and one rounding of the largest reference value, but not more. Linear in
// the elements.
Comparison compare(const Value& found, const Value& expected, const CompareOptions& options = {},
                   const Tensor* reference = nullptr);

}  // namespace pt2

#endif  // PT2_COMPARE_H
