#include <algorithm>
#include <cmath>
#include <complex>

#include "ops/convert.h"
#include "pt2/tools/stats.h"

namespace pt2 {
namespace {

// The number of elements that are converted together.
constexpr int64_t kRangeChunk = 1024;

class Gatherer {
 public:
  void add(double value) {
    if (std::isnan(value)) {
      ++range_.nans;
      return;
    }
    if (std::isinf(value)) ++range_.infinities;
    is_first_ = numbers_++ == 0;
    range_.min = is_first_ ? value : std::min(range_.min, value);
    range_.max = is_first_ ? value : std::max(range_.max, value);
    sum_ += value;
  }
  TensorRange finish(int64_t count) {
    range_.count = count;
    range_.mean = numbers_ == 0 ? 0 : sum_ / static_cast<double>(numbers_);
    return range_;
  }

 private:
  TensorRange range_;
  double sum_ = 0;
  int64_t numbers_ = 0;
  bool is_first_ = true;
};

}  // namespace

TensorRange tensor_range(const Tensor& tensor) {
  if (!tensor.has_memory()) return {};
  const Tensor dense = tensor.contiguous();
  Gatherer gatherer;
  const int64_t size = dtype_size(dense.dtype());
  const bool is_complex = dtype_category(dense.dtype()) == DtypeCategory::complex;
  for (int64_t begin = 0; begin < dense.numel(); begin += kRangeChunk) {
    const int64_t count = std::min(kRangeChunk, dense.numel() - begin);
    const std::byte* from = dense.raw_data() + begin * size;
    if (is_complex) {
      std::complex<double> values[kRangeChunk];
      ops::load_elements(from, 1, dense.dtype(), count, values);
      for (int64_t i = 0; i < count; ++i) gatherer.add(std::abs(values[i]));
    } else {
      double values[kRangeChunk];
      ops::load_elements(from, 1, dense.dtype(), count, values);
      for (int64_t i = 0; i < count; ++i) gatherer.add(values[i]);
    }
  }
  return gatherer.finish(dense.numel());
}

}  // namespace pt2
