// Reads rows of a tensor as elements of a compute type, one row at a time. Converting a whole
// tensor of half floats first would take more time for memory accesses than for computing.
#ifndef PT2_OPS_NEURAL_DENSE_ROWS_H
#define PT2_OPS_NEURAL_DENSE_ROWS_H

#include "base/memory_account.h"
#include "ops/dense.h"

namespace pt2::ops {

template <class C>
class InputRows {
 public:
  InputRows(const Tensor& tensor, int64_t length)
      : dense_(tensor.contiguous()),
        length_(length),
        buffer_(in_place() ? 0 : static_cast<size_t>(length)) {}
  // The row, valid until the next call.
  const C* row(int64_t index) {
    const std::byte* first = dense_.raw_data() + index * length_ * dtype_size(dense_.dtype());
    if (in_place()) return reinterpret_cast<const C*>(first);
    load_elements<C>(first, 1, dense_.dtype(), length_, buffer_.data());
    return buffer_.data();
  }

 private:
  bool in_place() const { return dense_.dtype() == kDtypeOf<C>; }

  Tensor dense_;
  int64_t length_;
  Scratch<C> buffer_;
};

// Calls fill(row index, destination of type C*) for each row of `out`.
template <class C, class F>
void fill_rows(Tensor& out, int64_t rows, int64_t length, F&& fill) {
  const bool in_place = out.dtype() == kDtypeOf<C>;
  Tensor dense = dense_result(out, out.dtype());
  Scratch<C> buffer(in_place ? 0 : static_cast<size_t>(length));
  for (int64_t index = 0; index < rows; ++index) {
    std::byte* first = dense.raw_data() + index * length * dtype_size(dense.dtype());
    C* row = in_place ? reinterpret_cast<C*>(first) : buffer.data();
    fill(index, row);
    if (!in_place) store_elements<C>(row, length, dense.dtype(), 1, first);
  }
  finish_dense(out, dense);
}

}  // namespace pt2::ops

#endif  // PT2_OPS_NEURAL_DENSE_ROWS_H
