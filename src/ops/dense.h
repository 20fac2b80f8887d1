// Whole tensors as row-major arrays of a compute type, for kernels that need more than one element
// at a time: rows along a dimension, matrices, windows. A tensor that already is such an array is
// used in place.
#ifndef PT2_OPS_DENSE_H
#define PT2_OPS_DENSE_H

#include <span>
#include <utility>

#include "ops/convert.h"
#include "ops/meta.h"

namespace pt2::ops {

template <class C>
inline constexpr Dtype kDtypeOf = Dtype::float32;
template <>
inline constexpr Dtype kDtypeOf<double> = Dtype::float64;
template <>
inline constexpr Dtype kDtypeOf<int64_t> = Dtype::int64;
template <>
inline constexpr Dtype kDtypeOf<Complex> = Dtype::complex128;

// `tensor` as a contiguous tensor of dtype `storage`. Its elements are first rounded to `dtype`,
// like a cast.
Tensor to_dense(const Tensor& tensor, Dtype dtype, Dtype storage);
// A contiguous tensor of dtype `storage` to compute in: `out` itself if it is contiguous and has
// that dtype.
Tensor dense_result(const Tensor& out, Dtype storage);
// Copies a tensor returned by dense_result back into `out`.
void finish_dense(Tensor& out, const Tensor& dense);

template <class C>
class Input {
 public:
  explicit Input(const Tensor& tensor) : Input(tensor, tensor.dtype()) {}
  Input(const Tensor& tensor, Dtype dtype) : dense_(to_dense(tensor, dtype, kDtypeOf<C>)) {}
  const C* data() const { return elements_; }
  const C& operator[](int64_t index) const { return elements_[index]; }
  int64_t size() const { return dense_.numel(); }

 private:
  Tensor dense_;
  const C* elements_ = std::as_const(dense_).template data<C>();  // cached for loops
};

// The destructor of Output writes the elements to the tensor.
template <class C>
class Output {
 public:
  explicit Output(Tensor& out) : out_(out), dense_(dense_result(out, kDtypeOf<C>)) {}
  ~Output() { finish_dense(out_, dense_); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  C* data() { return elements_; }
  C& operator[](int64_t index) { return elements_[index]; }

 private:
  Tensor out_;
  Tensor dense_;
  C* elements_ = dense_.template data<C>();
};

// A view with `dims` (wrapped, distinct) moved to the end, in the given order.
Tensor dims_last(const Tensor& tensor, std::span<const int64_t> dims);
inline Tensor dim_last(const Tensor& tensor, int64_t dim) {
  return tensor.dim() == 0 ? tensor : dims_last(tensor, std::span(&dim, 1));
}
// Length of `dim`, 1 for a 0-dim tensor.
inline int64_t length_of(const Tensor& tensor, int64_t dim) {
  return tensor.dim() == 0 ? 1 : tensor.size(dim);
}

// The number of rows of `length` in `numel` elements; 0 when rows are empty.
inline int64_t row_count(int64_t numel, int64_t length) { return length == 0 ? 0 : numel / length; }

}  // namespace pt2::ops

#endif  // PT2_OPS_DENSE_H
