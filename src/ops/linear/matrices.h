// Converts batches of matrices between tensors and the factorisations of dense/dense.h.
#ifndef PT2_OPS_LINEAR_MATRICES_H
#define PT2_OPS_LINEAR_MATRICES_H

#include <algorithm>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/memory_account.h"
#include "ops/dense.h"
#include "ops/emitter.h"
#include "ops/linear/dense/dense.h"
#include "ops/loops.h"
#include "ops/shape/view.h"

namespace pt2::ops {

using TensorPair = std::tuple<Tensor, Tensor>;
using TensorTriple = std::tuple<Tensor, Tensor, Tensor>;
using TensorQuadruple = std::tuple<Tensor, Tensor, Tensor, Tensor>;

// check_matrices() requires 32- or 64-bit floats or complex numbers and at least two dims.
Result<void> check_matrices(const Tensor& a, std::string_view what);
Result<void> check_square(const Tensor& a, std::string_view what);
// The batch sizes (all sizes but the last two), followed by `more`.
Sizes batch_of(const Tensor& a, std::initializer_list<int64_t> more = {});
// True if b holds one vector per matrix, as long as the matrix has rows, instead of a matrix.
bool holds_vectors(const Tensor& a, const Tensor& b);
// A view of the matrices, repeated for these batch sizes, to which theirs must broadcast.
Tensor with_batch(const Tensor& a, const Sizes& batch);
inline int64_t rows_of(const Tensor& a) { return a.size(a.dim() - 2); }
inline int64_t columns_of(const Tensor& a) { return a.size(a.dim() - 1); }

// A batch of column-major matrices, one after the other.
template <class T>
class Matrices {
 public:
  // Copies the elements of `a` and widens them to T.
  static Result<Matrices> copy_of(const Tensor& a) {
    // Factorisations take a number of steps of this order.
    MemoryAccount::count_loops({a.numel(), std::min(rows_of(a), columns_of(a))}, 1);
    PT2_TRY(Matrices out, zeros(batch_of(a), rows_of(a), columns_of(a)));
    copy_elements(out.turned_, *transpose(a, -2, -1));
    return out;
  }
  // Matrices of zeros. Error if the allocation exceeds the limit.
  static Result<Matrices> zeros(Sizes batch, int64_t rows, int64_t columns) {
    Matrices out;
    batch.insert(batch.end(), {columns, rows});
    PT2_TRY(out.turned_, allocate({kDtypeOf<T>, std::move(batch)}));
    out.rows_ = rows;
    out.columns_ = columns;
    return out;
  }
  // The number of matrices; 0 if they are empty, because a batch may hold any number of empty
  // matrices.
  int64_t count() const { return turned_.numel() == 0 ? 0 : turned_.numel() / (rows_ * columns_); }
  // Matrix `i`. Any index is valid if the matrices are empty: all of them are alike.
  MatrixView<T> operator[](int64_t i) {
    return {turned_.data<T>() + i * rows_ * columns_, rows_, columns_};
  }
  // The matrices as a tensor that shares their elements.
  Tensor tensor() const { return *transpose(turned_, -2, -1); }

 private:
  Tensor turned_;
  int64_t rows_ = 0;
  int64_t columns_ = 0;
};

// Calls f with double or Complex as its template argument, as the dtype requires.
template <class F>
auto with_field(const Tensor& a, F f) {
  return dtype_category(a.dtype()) == DtypeCategory::complex ? f.template operator()<Complex>()
                                                             : f.template operator()<double>();
}

// The Meta of matrices that are column-major, as LAPACK leaves them, unless `row_major`.
Meta meta_of(Dtype dtype, Sizes batch, int64_t rows, int64_t columns, bool row_major = false);
// Error for a matrix with NaN, as in LAPACK: the iteration for singular values would not end.
Result<void> check_svd_operand(const Tensor& a);
// Emits a column-major copy.
Result<Tensor> in_columns(Emitter& e, const Result<Tensor>& matrices);
// The precision in which PyTorch factors matrices of this dtype.
Precision precision_of(const Tensor& a);
// The float64 singular values of each matrix, in descending order.
Result<Tensor> singular_values(const Tensor& a);
// Stores numbers in a dense tensor. It keeps its zeros if there are none, as for empty matrices.
void set_integers(Tensor& out, std::span<const int64_t> numbers);
// The same for infos. Error for the first one that is not zero, if `check_errors`.
Result<void> set_infos(Tensor& out, std::span<const int64_t> infos, bool check_errors,
                       std::string_view what);
// Broadcasts the batch sizes of both operands to common ones.
Result<TensorPair> same_batch(const Tensor& a, const Tensor& b);
template <class T>
void set_identity(MatrixView<T> a) {
  for (int64_t i = 0; i < std::min(a.rows, a.columns); ++i) a.at(i, i) = 1;
}

// The LU factors of each matrix of a batch. Pivots and infos are set for non-empty matrices only.
template <class T>
struct LuBatch {
  Matrices<T> factors;
  std::vector<int64_t> pivots;
  std::vector<int64_t> infos;

  const int64_t* pivots_of(int64_t i) {
    return pivots.data() + i * std::min(factors[i].rows, factors[i].columns);
  }
  // The product of factor(element) for the diagonal of U, negated for each exchange of rows: the
  // determinant if factor(element) is the element.
  template <class F>
  T diagonal_product(int64_t i, F factor) {
    T product = 1;
    for (int64_t k = 0; k < factors[i].rows; ++k) {
      product *= factor(factors[i].at(k, k));
      if (pivots_of(i)[k] != k + 1) product = -product;
    }
    return product;
  }
  void store(Tensor& lu, Tensor& pivot_rows) const {
    copy_elements(lu, factors.tensor());
    set_integers(pivot_rows, pivots);
  }
};
template <class T>
Result<LuBatch<T>> factor_lu_batch(const Tensor& a) {
  LuBatch<T> out;
  PT2_TRY(out.factors, Matrices<T>::copy_of(a));
  const int64_t inner = std::min(rows_of(a), columns_of(a));
  for (int64_t i = 0; i < out.factors.count(); ++i) {
    out.pivots.resize(out.pivots.size() + static_cast<size_t>(inner));
    out.infos.push_back(factor_lu(out.factors[i], out.pivots.data() + i * inner));
  }
  return out;
}
// Factors the transpose of square matrices that LAPACK reads without a copy: their determinant is
// the same (ATen/native/BatchLinearAlgebra.cpp _linalg_det).
template <class T>
Result<LuBatch<T>> factor_for_determinant(const Tensor& a) {
  const bool transposes = a.is_contiguous() && dtype_category(a.dtype()) != DtypeCategory::complex;
  return factor_lu_batch<T>(transposes ? *transpose(a, -2, -1) : a);
}

}  // namespace pt2::ops

#endif  // PT2_OPS_LINEAR_MATRICES_H
