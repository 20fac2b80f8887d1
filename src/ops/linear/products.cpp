// Products, powers and norms of vectors and matrices, composed of other operators.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/memory_account.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/linear/matrices.h"
#include "ops/loops.h"
#include "ops/op_def.h"
#include "ops/shape/view.h"

namespace pt2::ops {
namespace {

bool is_complex(const Tensor& tensor) {
  return dtype_category(tensor.dtype()) == DtypeCategory::complex;
}

Result<Tensor> vdot(Emitter& e, const Tensor& self, const Tensor& other) {
  PT2_TRY_VOID(check_rank(self, 1, "self"));
  PT2_TRY_VOID(check_sizes(other, self.sizes(), "other"));
  return e(aten<"dot.default">, {e(aten<"conj.default">, {self}), other});
}
Result<Tensor> dist(Emitter& e, const Tensor& self, const Tensor& other, const Scalar& p) {
  return e(aten<"norm.Scalar">, {e(aten<"sub.Tensor">, {self, other}), p});
}

// a = exp(a), by the Taylor series of a / 2^s, squared s times. The series ends after as many terms
// as double precision needs, p^2, and takes 2 (p - 1) products (Paterson and Stockmeyer): it is a
// polynomial in a^p, whose coefficients are polynomials in a of degree p - 1. `work` is memory.
template <class T>
void set_exponential(MatrixView<T> a, Scratch<T>& work) {
  const int64_t n = a.rows;
  const int64_t count = n * n;
  double norm = 0;
  double all = 0;
  for (int64_t j = 0; j < n; ++j) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += std::abs(a.at(i, j));
    norm = std::max(norm, sum);
    all += sum;
  }
  if (!std::isfinite(all)) {
    // One step of the series would spread NaN over the whole matrix.
    const T number = n == 1 ? std::exp(a.data[0]) : T(std::numeric_limits<double>::quiet_NaN());
    std::fill_n(a.data, count, number);
    return;
  }
  // The first term left out, norm^(p^2 + 1) / (p^2 + 1)!, is below 1e-16 up to these norms.
  constexpr int kMostPowers = 4;
  constexpr double kLargestNorm = 0.8;
  int squarings = 0;
  while (std::ldexp(norm, -squarings) > kLargestNorm) ++squarings;
  const int p = norm < 1.6e-3 ? 2 : norm < 0.11 ? 3 : kMostPowers;
  constexpr int64_t kDoubleLanes = 2;
  MemoryAccount::count_products({2 * (p - 1) + squarings, n, n, n}, kDoubleLanes);
  work.resize(static_cast<size_t>((kMostPowers + 2) * count));
  const auto view = [&](int64_t i) { return MatrixView<T>{work.data() + i * count, n, n}; };
  const double scale = std::ldexp(1.0, -squarings);
  std::transform(a.data, a.data + count, work.data(), [scale](T x) { return x * scale; });
  for (int64_t i = 1; i < p; ++i) multiply(view(i - 1), view(0), view(i));  // a^(i + 1)
  std::array<double, kMostPowers * kMostPowers + 1> factors{1};
  for (size_t k = 1; k < factors.size(); ++k) factors[k] = factors[k - 1] / static_cast<double>(k);
  MatrixView<T> sum = view(kMostPowers), product = view(kMostPowers + 1);
  const auto add = [&](T* to, int power, int term) {
    const T* from = view(power - 1).data;
    for (int64_t i = 0; i < count; ++i) to[i] += from[i] * factors[static_cast<size_t>(term)];
  };
  std::fill_n(sum.data, count, T(0));
  add(sum.data, p, p * p);
  for (int block = p - 1;; --block) {
    for (int power = p - 1; power > 0; --power) add(sum.data, power, block * p + power);
    for (int64_t i = 0; i < n; ++i) sum.at(i, i) += factors[static_cast<size_t>(block * p)];
    if (block == 0) break;
    multiply(sum, view(p - 1), product);
    std::swap(sum, product);
  }
  for (int i = 0; i < squarings; ++i) {
    multiply(sum, sum, product);
    std::swap(sum, product);
  }
  std::copy_n(sum.data, count, a.data);
}
Result<Meta> matrix_exp_meta(const Tensor& self) {
  // Unlike other operators on matrices, it also takes half floats.
  const Dtype wide = is_half(self.dtype()) ? Dtype::float32 : self.dtype();
  PT2_TRY_VOID(check_square(Tensor::without_elements(wide, self.sizes()), "self"));
  return Meta::like(self);
}
Result<void> matrix_exp(Tensor& out, const Tensor& self) {
  return with_field(self, [&]<class T>() -> Result<void> {
    PT2_TRY(Matrices<T> matrices, Matrices<T>::copy_of(self));
    Scratch<T> work;
    for (int64_t i = 0; i < matrices.count(); ++i) set_exponential(matrices[i], work);
    copy_elements(out, matrices.tensor());
    return {};
  });
}

Result<Tensor> addmm_activation(Emitter& e, const Tensor& self, const Tensor& mat1,
                                const Tensor& mat2, const Scalar& beta, const Scalar& alpha,
                                bool use_gelu) {
  const auto sum = e(aten<"addmm.default">, {self, mat1, mat2, beta, alpha});
  return use_gelu ? e(aten<"gelu.default">, {sum}) : e(aten<"relu.default">, {sum});
}

// sum(i1 * i2 * i3) over sumdim, after inserting dimensions of size 1 at each operand's `expand`
// dims.
Result<Tensor> trilinear(Emitter& e, const Tensor& i1, const Tensor& i2, const Tensor& i3,
                         const Sizes& expand1, const Sizes& expand2, const Sizes& expand3,
                         const Sizes& sumdim, int64_t) {
  const auto expanded = [&](Tensor tensor, Sizes dims) -> Result<Tensor> {
    std::ranges::sort(dims);
    for (const int64_t dim : dims) {
      PT2_TRY(tensor, e(aten<"unsqueeze.default">, {tensor, dim}));
    }
    return tensor;
  };
  const auto a = expanded(i1, expand1), b = expanded(i2, expand2), c = expanded(i3, expand3);
  PT2_TRY(const Tensor product, e(aten<"mul.Tensor">, {e(aten<"mul.Tensor">, {a, b}), c}));
  if (sumdim.empty()) return product;
  const auto sum = e(aten<"sum.dim_IntList">, {product, sumdim});
  return e(aten<"to.dtype">, {sum, product.dtype()});
}

// --- Formulas (ATen/native/LinearAlgebra.cpp)

Result<Tensor> adjoint(Emitter& e, const Tensor& self) {
  if (self.dim() == 0) return e(aten<"conj.default">, {self});
  PT2_TRY_VOID(check_rank_at_least(self, 2, "self"));
  const auto turned = e(aten<"transpose.int">, {self, -2, -1});
  return is_complex(self) ? e(aten<"conj.default">, {turned}) : turned;
}
Result<Tensor> matrix_h(Emitter& e, const Tensor& self) {
  if (self.dim() != 0) PT2_TRY_VOID(check_rank(self, 2, "self"));
  return adjoint(e, self);
}
Result<Tensor> linalg_diagonal(Emitter& e, const Tensor& a, int64_t offset, int64_t dim1,
                               int64_t dim2) {
  return e(aten<"diagonal.default">, {a, offset, dim1, dim2});
}

Result<Tensor> vecdot(Emitter& e, const Tensor& x, const Tensor& y, int64_t dim) {
  PT2_TRY_VOID(check_floating_or_complex(x, "x"));
  PT2_TRY_VOID(check_same_dtype(y, x, "y"));
  if (x.dim() == 1 && y.dim() == 1) return e(aten<"vdot.default">, {x, y});
  const auto product = e(aten<"mul.Tensor">, {e(aten<"conj.default">, {x}), y});
  return e(aten<"sum.dim_IntList">, {product, Sizes{dim}});
}
Result<Tensor> inner(Emitter& e, const Tensor& self, const Tensor& other) {
  if (self.dim() == 0 || other.dim() == 0) return e(aten<"mul.Tensor">, {self, other});
  if (self.sizes().back() != other.sizes().back())
    return operator_error("other: found " + other.type_text() + ", expected the last size of " +
                          self.type_text());
  return e(aten<"tensordot.default">, {self, other, Sizes{-1}, Sizes{-1}});
}
// Multiplies every element of self by the whole of other.
Result<Tensor> kron(Emitter& e, const Tensor& self, const Tensor& other) {
  const int64_t rank = std::max(self.dim(), other.dim());
  Sizes left, right, out;
  for (int64_t dim = 0; dim < rank; ++dim) {
    const auto size = [&](const Tensor& tensor) {
      const int64_t lead = rank - tensor.dim();
      return dim < lead ? 1 : tensor.size(dim - lead);
    };
    left.insert(left.end(), {size(self), 1});
    right.insert(right.end(), {1, size(other)});
    PT2_TRY(const int64_t product, multiply_add(size(self), size(other)));
    out.push_back(product);
  }
  const auto a = e(aten<"reshape.default">, {self, left});
  const auto b = e(aten<"reshape.default">, {other, right});
  return e(aten<"view.default">, {e(aten<"mul.Tensor">, {a, b}), out});
}
// Without `dim`, takes the first dim of size 3.
Result<Tensor> cross(Emitter& e, const Tensor& self, const Tensor& other,
                     const std::optional<int64_t>& dim) {
  if (dim) return e(aten<"linalg_cross.default">, {self, other, *dim});
  for (int64_t i = 0; i < self.dim(); ++i)
    if (self.size(i) == 3) return e(aten<"linalg_cross.default">, {self, other, i});
  return operator_error("self: found " + self.type_text() + ", expected a dim of size 3");
}

// Computes the power by repeated squaring.
Result<Tensor> matrix_power(Emitter& e, const Tensor& self, int64_t n) {
  PT2_TRY_VOID(check_rank_at_least(self, 2, "self"));
  if (self.size(self.dim() - 1) != self.size(self.dim() - 2))
    return operator_error("self: found " + self.type_text() + ", expected square matrices");
  const auto times = [&](const Tensor& a, const Tensor& b) {
    return e(aten<"matmul.default">, {a, b});
  };
  if (n == 0) {
    const auto identity = e(aten<"eye.default">, {self.sizes().back(), self.dtype()});
    return e(aten<"clone.default">,
             {e(aten<"expand.default">, {identity, self.sizes()}), MemoryFormat::contiguous});
  }
  Tensor base = self;
  // Unsigned: the smallest int64 cannot be negated.
  uint64_t exponent = static_cast<uint64_t>(n);
  if (n < 0) {
    PT2_TRY(base, e(aten<"linalg_inv.default">, {self}));
    exponent = ~exponent + 1;
  } else if (n == 1) {
    return e(aten<"clone.default">, {self, MemoryFormat::contiguous});
  }
  if (exponent == 3) {
    PT2_TRY(const Tensor square, times(base, base));
    return times(square, base);
  }
  std::optional<Tensor> result;
  for (;; exponent >>= 1) {
    if (exponent & 1) {
      PT2_TRY(result, result ? times(*result, base) : Result<Tensor>(base));
    }
    if (exponent == 1) return *std::move(result);
    PT2_TRY(base, times(base, base));
  }
}

// For the product of matrices i to j: the index at which the cheapest order splits it
// (matrix_chain_order).
using Splits = std::vector<std::vector<size_t>>;
Splits cheapest_splits(const Tensors& matrices) {
  const size_t count = matrices.size();
  std::vector<double> widths{static_cast<double>(matrices[0].size(0))};
  for (const Tensor& matrix : matrices) widths.push_back(static_cast<double>(matrix.size(1)));
  std::vector<std::vector<double>> costs(count, std::vector<double>(count, 0));
  Splits splits(count, std::vector<size_t>(count, 0));
  for (size_t length = 1; length < count; ++length)
    for (size_t i = 0; i + length < count; ++i) {
      const size_t j = i + length;
      costs[i][j] = std::numeric_limits<double>::infinity();
      for (size_t k = i; k < j; ++k) {
        const double cost =
            costs[i][k] + costs[k + 1][j] + widths[i] * widths[k + 1] * widths[j + 1];
        // With three matrices, the first two are multiplied first if the costs are equal.
        if (cost > costs[i][j] || (cost == costs[i][j] && count > 3)) continue;
        costs[i][j] = cost;
        splits[i][j] = k;
      }
    }
  return splits;
}
Result<Tensor> multiply_chain(Emitter& e, const Tensors& matrices, const Splits& splits, size_t i,
                              size_t j) {
  if (i == j) return matrices[i];
  const auto left = multiply_chain(e, matrices, splits, i, splits[i][j]);
  const auto right = multiply_chain(e, matrices, splits, splits[i][j] + 1, j);
  return e(aten<"mm.default">, {left, right});
}
Result<Tensor> multi_dot(Emitter& e, const Tensors& tensors) {
  constexpr size_t kMost = 100;  // finding the order takes the third power of steps
  if (tensors.size() < 2 || tensors.size() > kMost)
    return operator_error("tensors: found " + std::to_string(tensors.size()) + ", expected 2 to " +
                          std::to_string(kMost));
  Tensors matrices = tensors;
  Sizes sizes;
  for (size_t i = 0; i < matrices.size(); ++i) {
    Tensor& matrix = matrices[i];
    const bool is_first = i == 0, is_last = i + 1 == matrices.size();
    if (matrix.dim() == 1 && (is_first || is_last)) {
      PT2_TRY(matrix, e(aten<"unsqueeze.default">, {matrix, is_first ? 0 : -1}));
    } else if (is_first || is_last) {
      PT2_TRY_VOID(check_rank(matrix, 2, "tensors"));
      sizes.push_back(matrix.size(is_first ? 0 : 1));
    }
    PT2_TRY_VOID(check_rank(matrix, 2, "tensors"));
  }
  const auto count = std::ssize(matrices);
  MemoryAccount::count_loops({count, count, count}, 6);
  const auto product =
      multiply_chain(e, matrices, cheapest_splits(matrices), 0, matrices.size() - 1);
  return e(aten<"view.default">, {product, sizes});
}
Result<Tensor> chain_matmul(Emitter& e, const Tensors& matrices) {
  for (const Tensor& matrix : matrices) PT2_TRY_VOID(check_rank(matrix, 2, "matrices"));
  return matrices.size() == 1 ? e(aten<"clone.default">, {matrices[0]})
                              : e(aten<"linalg_multi_dot.default">, {matrices});
}

// The powers 0, 1, ... of every element, along a new last dimension. Integers give int64.
Result<Tensor> vander_powers(Emitter& e, const Tensor& x, int64_t count) {
  Sizes sizes = x.sizes();
  sizes.push_back(count - 1);
  const auto columns = e(aten<"expand.default">, {e(aten<"unsqueeze.default">, {x, -1}), sizes});
  PT2_TRY(const Tensor powers, e(aten<"cumprod.default">, {columns, -1}));
  sizes.back() = 1;
  PT2_TRY(const Tensor ones, e(aten<"new_ones.default">, {powers, sizes}));
  return e(aten<"cat.default">, {Tensors{ones, powers}, -1});
}
Result<Tensor> linalg_vander(Emitter& e, const Tensor& x, const std::optional<int64_t>& count) {
  PT2_TRY(const Tensor row,
          x.dim() == 0 ? e(aten<"unsqueeze.default">, {x, -1}) : Result<Tensor>(x));
  const int64_t columns = count.value_or(row.sizes().back());
  if (columns < 2)
    return operator_error("N: found " + std::to_string(columns) + ", expected at least 2");
  return vander_powers(e, row, columns);
}
Result<Tensor> vander(Emitter& e, const Tensor& x, const std::optional<int64_t>& count,
                      bool increasing) {
  PT2_TRY_VOID(check_rank(x, 1, "x"));
  const int64_t columns = count.value_or(x.size(0));
  if (columns < 0)
    return operator_error("N: found " + std::to_string(columns) + ", expected 0 or more");
  const Dtype dtype = promote_types(x.dtype(), Dtype::int64);
  const auto powers = columns < 2 ? e(aten<"ones.default">, {Sizes{x.size(0), columns}, dtype})
                                  : vander_powers(e, x, columns);
  return increasing ? powers : e(aten<"flip.default">, {powers, Sizes{1}});
}

Result<Tensor> tensorinv(Emitter& e, const Tensor& self, int64_t ind) {
  if (ind < 1 || ind > self.dim())
    return operator_error("ind: found " + std::to_string(ind) + ", expected 1 to " +
                          std::to_string(self.dim()));
  int64_t rows = 1, columns = 1;
  for (int64_t dim = 0; dim < self.dim(); ++dim) (dim < ind ? rows : columns) *= self.size(dim);
  if (rows != columns)
    return operator_error("self: found " + self.type_text() + ", expected equal products of sizes");
  Sizes sizes(self.sizes().begin() + ind, self.sizes().end());
  sizes.insert(sizes.end(), self.sizes().begin(), self.sizes().begin() + ind);
  const auto flat = e(aten<"reshape.default">, {self, Sizes{rows, columns}});
  return e(aten<"reshape.default">, {e(aten<"linalg_inv.default">, {flat}), sizes});
}
Result<Tensor> tensorsolve(Emitter& e, const Tensor& self, const Tensor& other,
                           const std::optional<Sizes>& dims) {
  Tensor moved = self;
  if (dims) {
    Sizes ends;
    for (size_t i = 0; i < dims->size(); ++i)
      ends.push_back(static_cast<int64_t>(i) - static_cast<int64_t>(dims->size()));
    PT2_TRY(moved, e(aten<"movedim.intlist">, {self, *dims, ends}));
  }
  if (other.dim() > moved.dim())
    return operator_error("other: found " + other.type_text() + " for " + self.type_text() +
                          ", expected no more dims");
  const Sizes sizes(moved.sizes().begin() + other.dim(), moved.sizes().end());
  const auto columns = checked_numel(sizes);
  if (!columns || *columns != other.numel())
    return operator_error("other: found " + other.type_text() + " for " + self.type_text() +
                          ", expected as many elements as the last sizes of self have");
  const auto matrix = e(aten<"reshape.default">, {moved, Sizes{*columns, *columns}});
  const auto side = e(aten<"flatten.using_ints">, {other});
  return e(aten<"reshape.default">, {e(aten<"linalg_solve.default">, {matrix, side}), sizes});
}

// --- Norms

Result<std::vector<int64_t>> matrix_dims(const Tensor& self, const Sizes& dim) {
  if (dim.size() != 2) return operator_error("dim: found " + sizes_text(dim) + ", expected 2 dims");
  PT2_TRY_VOID(check_rank_at_least(self, 2, "self"));
  return wrap_distinct_dims(dim, self.dim());
}
// Returns combine(the singular values along `dims`).
template <class Combine>
Result<Tensor> of_singular_values(Emitter& e, const Tensor& self, const std::vector<int64_t>& dims,
                                  bool keepdim, const OptionalDtype& dtype,
                                  const Combine& combine) {
  Sizes order;
  for (int64_t dim = 0; dim < self.dim(); ++dim)
    if (dim != dims[0] && dim != dims[1]) order.push_back(dim);
  order.insert(order.end(), dims.begin(), dims.end());
  const auto cast = dtype ? e(aten<"to.dtype">, {self, *dtype}) : Result<Tensor>(self);
  const auto last = e(aten<"permute.default">, {cast, order});
  const auto out = combine(e(aten<"linalg_svdvals.default">, {last}));
  if (!keepdim) return out;
  Sizes back(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return e(aten<"permute.default">, {e(aten<"unsqueeze.default">, {out, -1}), back});
}

Result<Tensor> matrix_norm(Emitter& e, const Tensor& self, const Scalar& ord, const Sizes& dim,
                           bool keepdim, const OptionalDtype& dtype) {
  const double order = ord.to_double();
  const double magnitude = std::fabs(order);
  if (magnitude != 1 && magnitude != 2 && !std::isinf(magnitude))
    return operator_error("found ord " + std::to_string(order) +
                          ", expected 1, 2 or inf, or their negatives");
  PT2_TRY(auto dims, matrix_dims(self, dim));
  PT2_TRY_VOID(check_floating_or_complex(self, "self"));
  // The largest of no norms is 0; the smallest of no norms is an error.
  const auto choose = [&](const Result<Tensor>& norms, int64_t along, bool is_empty) {
    const Handle of_none = aten<"sum.dim_IntList">;
    const Handle handle = is_empty    ? of_none
                          : order > 0 ? Handle(aten<"amax.default">)
                                      : aten<"amin.default">;
    return e(handle, {norms, Sizes{along}, keepdim});
  };
  if (magnitude == 2)
    return of_singular_values(e, self, dims, keepdim, dtype, [&](const Result<Tensor>& values) {
      return choose(values, -1, order > 0 && (self.size(dims[0]) == 0 || self.size(dims[1]) == 0));
    });
  if (std::isinf(magnitude)) std::swap(dims[0], dims[1]);
  const bool is_empty = order > 0 && self.size(dims[1]) == 0;
  const auto sums =
      e(aten<"linalg_vector_norm.default">, {self, 1.0, Sizes{dims[0]}, keepdim, dtype});
  return choose(sums, dims[1] - (!keepdim && dims[0] < dims[1] ? 1 : 0), is_empty);
}
Result<Tensor> matrix_norm_named(Emitter& e, const Tensor& self, const std::string& ord,
                                 const Sizes& dim, bool keepdim, const OptionalDtype& dtype) {
  if (ord != "fro" && ord != "nuc")
    return operator_error("ord: found '" + ord + "', expected 'fro' or 'nuc'");
  PT2_TRY(const auto dims, matrix_dims(self, dim));
  if (ord == "fro") return e(aten<"linalg_vector_norm.default">, {self, 2.0, dims, keepdim, dtype});
  return of_singular_values(e, self, dims, keepdim, dtype, [&](const Result<Tensor>& values) {
    return e(aten<"sum.dim_IntList">, {values, Sizes{-1}, keepdim});
  });
}
Result<Tensor> norm(Emitter& e, const Tensor& self, const std::optional<Scalar>& ord,
                    const std::optional<Sizes>& dim, bool keepdim, const OptionalDtype& dtype) {
  if (dim && dim->size() != 1 && dim->size() != 2)
    return operator_error("found " + std::to_string(dim->size()) + " dims, expected 1 or 2");
  if (!dim && ord && self.dim() != 1 && self.dim() != 2)
    return operator_error("found rank " + std::to_string(self.dim()) +
                          " without dims, expected 1 or 2");
  if (ord && (dim ? dim->size() == 2 : self.dim() == 2))
    return e(aten<"linalg_matrix_norm.default">,
             {self, *ord, dim.value_or(Sizes{0, 1}), keepdim, dtype});
  return e(aten<"linalg_vector_norm.default">,
           {self, ord.value_or(Scalar(2.0)), dim, keepdim, dtype});
}
Result<Tensor> norm_named(Emitter& e, const Tensor& self, const std::string& ord,
                          const std::optional<Sizes>& dim, bool keepdim,
                          const OptionalDtype& dtype) {
  if (!dim) PT2_TRY_VOID(check_rank(self, 2, "self"));
  return e(aten<"linalg_matrix_norm.str_ord">,
           {self, ord, dim.value_or(Sizes{0, 1}), keepdim, dtype});
}
Result<Tensor> nuclear_norm_dim(Emitter& e, const Tensor& self, const Sizes& dim, bool keepdim) {
  return e(aten<"linalg_matrix_norm.str_ord">, {self, std::string("nuc"), dim, keepdim});
}
Result<Tensor> nuclear_norm(Emitter& e, const Tensor& self, bool keepdim) {
  return nuclear_norm_dim(e, self, {-2, -1}, keepdim);
}

// The condition numbers of matrices without elements, square or not: zeros.
Result<Tensor> cond_of_none(Emitter& e, const Tensor& self) {
  PT2_TRY_VOID(check_matrices(self, "self"));
  return e(aten<"zeros.default">, {batch_of(self), real_dtype(self.dtype())});
}
// The norm of the matrix times the norm of its inverse; infinite for singular matrices
// (_linalg_cond_helper).
template <class Norm>
Result<Tensor> cond_by(Emitter& e, const Tensor& self, const Norm& norm_of) {
  if (self.numel() == 0) return cond_of_none(e, self);
  PT2_TRY_VOID(check_square(self, "self"));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  PT2_TRY(const auto parts, (e.several<Tensor, Tensor>(aten<"linalg_inv_ex.default">, {self})));
  const auto& [found, info] = parts;
  const auto infos = e(aten<"unsqueeze.default">, {e(aten<"unsqueeze.default">, {info, -1}), -1});
  PT2_TRY(const Tensor inverse,
          e(aten<"masked_fill.Scalar">, {found, e(aten<"gt.Scalar">, {infos, 0}), kInfinity}));
  const auto own = norm_of(self);
  const auto product = e(aten<"mul.Tensor">, {own, norm_of(inverse)});
  return e(aten<"nan_to_num.default">, {product, kInfinity, kInfinity, -kInfinity});
}
Result<Tensor> cond_named(Emitter& e, const Tensor& self, const std::string& p) {
  return cond_by(e, self, [&](const Tensor& a) {
    return e(aten<"linalg_matrix_norm.str_ord">, {a, p});
  });
}
// The default condition number is the largest singular value divided by the smallest.
Result<Tensor> cond(Emitter& e, const Tensor& self, const std::optional<Scalar>& p) {
  PT2_TRY_VOID(check_matrices(self, "self"));
  const double order = p ? p->to_double() : 2;
  if (std::fabs(order) != 2)
    return cond_by(e, self, [&](const Tensor& a) {
      return e(aten<"linalg_matrix_norm.default">, {a, Scalar(order)});
    });
  if (self.numel() == 0) return cond_of_none(e, self);
  const auto values = e(aten<"linalg_svdvals.default">, {self});
  const auto largest = e(aten<"narrow.default">, {values, -1, 0, 1});
  const auto smallest = e(aten<"narrow.default">, {values, -1, -1, 1});
  const auto quotient = order > 0 ? e(aten<"div.Tensor">, {largest, smallest})
                                  : e(aten<"div.Tensor">, {smallest, largest});
  return e(aten<"squeeze.dim">, {quotient, -1});
}

// ATen/native/WeightNorm.cpp norm_except_dim.
Result<Tensor> norm_except_dim(Emitter& e, const Tensor& v, int64_t pow, int64_t dim) {
  if (dim == -1) return e(aten<"norm.Scalar">, {v, pow});
  PT2_TRY(const int64_t kept, wrap_existing_dim(dim, v));
  const int64_t last = v.dim() - 1;
  if (kept != 0 && kept != last) {
    PT2_TRY(const Tensor first, e(aten<"transpose.int">, {v, 0, kept}));
    return e(aten<"transpose.int">, {norm_except_dim(e, first, pow, 0), 0, kept});
  }
  Sizes sizes(v.sizes().size(), 1);
  sizes[static_cast<size_t>(kept)] = v.size(kept);
  const Sizes rows = kept == 0 ? Sizes{v.size(0), -1} : Sizes{-1, v.size(last)};
  const auto flat = e(aten<"view.default">, {e(aten<"contiguous.default">, {v}), rows});
  const auto norms = e(aten<"norm.ScalarOpt_dim">, {flat, pow, Sizes{kept == 0 ? 1 : 0}});
  return e(aten<"view.default">, {norms, sizes});
}
Result<Tensor> weight_norm(Emitter& e, const Tensor& v, const Tensor& g, int64_t dim) {
  PT2_TRY(const Tensor dense, e(aten<"contiguous.default">, {v}));
  PT2_TRY(const Tensor lengths, e(aten<"contiguous.default">, {g}));
  const bool is_half = dtype_size(v.dtype()) == 2 || dtype_size(g.dtype()) == 2;
  if (!is_half && (dim == 0 || dim == v.dim() - 1))
    return e(aten<"_weight_norm_interface.default">, {dense, lengths, dim});
  const auto norm = e(aten<"norm_except_dim.default">, {dense, 2, dim});
  return e(aten<"mul.Tensor">, {dense, e(aten<"div.Tensor">, {lengths, norm})});
}

// Products of half floats whose results are not rounded to half floats (ATen/native/cuda/Blas.cpp
// _bmm_dtype_cuda). PyTorch has these operators only on GPUs.
template <Handle Product>
Result<Tensor> product_as(Emitter& e, const Tensor& a, const Tensor& b, Dtype out_dtype) {
  if (a.dtype() != b.dtype() ||
      (out_dtype != a.dtype() && !(is_half(a.dtype()) && out_dtype == Dtype::float32)))
    return operator_error("found " + a.type_text() + " times " + b.type_text() + " as " +
                          std::string(dtype_name(out_dtype)) +
                          ", expected one dtype, or half floats as float32");
  if (out_dtype == a.dtype()) return e(Product, {a, b});
  return e(Product, {e(aten<"_to_copy.default">, {a, out_dtype}),
                     e(aten<"_to_copy.default">, {b, out_dtype})});
}
template <Handle Product>
Result<Tensor> sum_of_product_as(Emitter& e, const Tensor& self, const Tensor& a, const Tensor& b,
                                 Dtype out_dtype, const Scalar& beta, const Scalar& alpha) {
  PT2_TRY(const Tensor product, product_as<Product>(e, a, b, out_dtype));
  PT2_TRY(const Tensor scaled, e(aten<"mul.Scalar">, {product, alpha}));
  if (beta.to_complex() == 0.0) return scaled;
  PT2_TRY(const Tensor addend, e(aten<"to.dtype">, {self, out_dtype}));
  return e(aten<"add.Tensor">, {scaled, e(aten<"mul.Scalar">, {addend, beta})});
}

// The exponential of a block matrix of twice the size has the gradient as its upper right block
// (ATen/native/LinearAlgebra.cpp matrix_exp_backward).
Result<Tensor> matrix_exp_backward(Emitter& e, const Tensor& self, const Tensor& grad) {
  PT2_TRY_VOID(matrix_exp_meta(self));
  PT2_TRY_VOID(check_sizes(grad, self.sizes(), "grad"));
  PT2_TRY(const Tensor adjoint, e(aten<"mH.default">, {self}));
  PT2_TRY(const Tensor zeros, e(aten<"zeros_like.default">, {adjoint}));
  const auto beside = [&](const Tensor& left, const Tensor& right) {
    return e(aten<"cat.default">, {Tensors{left, right}, int64_t{-1}});
  };
  PT2_TRY(const Tensor above, beside(adjoint, grad));
  PT2_TRY(const Tensor below, beside(zeros, adjoint));
  const auto all = e(aten<"linalg_matrix_exp.default">,
                     {e(aten<"cat.default">, {Tensors{above, below}, int64_t{-2}})});
  const int64_t rows = self.size(self.dim() - 1);
  const auto half = e(aten<"narrow.default">, {all, int64_t{-2}, int64_t{0}, rows});
  return e(aten<"narrow.default">, {half, int64_t{-1}, rows, rows});
}

// clang-format off
constexpr OpDef kProductsOps[] = {
    op<"aten::mH(Tensor(a) self) -> Tensor(a)", adjoint>.with({.sharing = Sharing::unless_complex, .inverse = Inverse::repeat, .slope = Slope::linear}),
    op<"aten::adjoint(Tensor(a) self) -> Tensor(a)", adjoint>.with({.sharing = Sharing::unless_complex, .inverse = Inverse::repeat, .slope = Slope::linear}),
    op<"aten::matrix_H(Tensor(a) self) -> Tensor(a)", matrix_h>.with({.sharing = Sharing::unless_complex, .inverse = Inverse::repeat, .slope = Slope::linear}),
    kept<"aten::vdot(Tensor self, Tensor other) -> Tensor", vdot>,
    op<"aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor", vecdot>.with({.autocast = AutocastRule::lower_precision}),
    op<"aten::mm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor", product_as<aten<"mm.default">>>,
    op<"aten::bmm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor", product_as<aten<"bmm.default">>>,
    op<"aten::addmm.dtype(Tensor self, Tensor mat1, Tensor mat2, ScalarType out_dtype, *, Scalar beta=1, Scalar alpha=1) -> Tensor", sum_of_product_as<aten<"mm.default">>>,
    op<"aten::baddbmm.dtype(Tensor self, Tensor batch1, Tensor batch2, ScalarType out_dtype, *, Scalar beta=1, Scalar alpha=1) -> Tensor", sum_of_product_as<aten<"bmm.default">>>,
    op<"aten::inner(Tensor self, Tensor other) -> Tensor", inner>,
    op<"aten::kron(Tensor self, Tensor other) -> Tensor", kron>,
    op<"aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor", dist>,
    op<"aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor", cross>,
    op<"aten::matrix_power(Tensor self, int n) -> Tensor", matrix_power>.with({.same_as = "linalg_matrix_power.default"}),
    op<"aten::linalg_matrix_power(Tensor self, int n) -> Tensor", matrix_power>,
    op<"aten::linalg_multi_dot(Tensor[] tensors) -> Tensor", multi_dot>.with({.autocast = AutocastRule::lower_precision}),
    op<"aten::chain_matmul(Tensor[] matrices) -> Tensor", chain_matmul>.with({.autocast = AutocastRule::lower_precision}),
    op<"aten::matrix_exp(Tensor self) -> Tensor", matrix_exp_meta, matrix_exp>.with({.same_as = "linalg_matrix_exp.default"}),
    op<"aten::linalg_matrix_exp(Tensor self) -> Tensor", matrix_exp_meta, matrix_exp>,
    op<"aten::matrix_exp_backward(Tensor self, Tensor grad) -> Tensor", matrix_exp_backward>.with({.slope = Slope::linear, .linear_in = "grad"}),
    op<"aten::linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor", linalg_vander>,
    op<"aten::vander(Tensor x, SymInt? N=None, bool increasing=False) -> Tensor", vander>,
    op<"aten::linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)", linalg_diagonal>.with({.slope = Slope::linear, .linear_in = "A"}),
    op<"aten::linalg_tensorinv(Tensor self, int ind=2) -> Tensor", tensorinv>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor", tensorsolve>.with({.autocast = AutocastRule::float32}),
    kept<"aten::_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, bool use_gelu=False) -> Tensor", addmm_activation>.with({.autocast = AutocastRule::lower_precision}),
    kept<"aten::_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int unroll_dim=1) -> Tensor", trilinear>,
    op<"aten::linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", matrix_norm>,
    op<"aten::linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", matrix_norm_named>,
    op<"aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", norm>,
    op<"aten::linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", norm_named>,
    op<"aten::nuclear_norm(Tensor self, bool keepdim=False) -> Tensor", nuclear_norm>,
    op<"aten::nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor", nuclear_norm_dim>,
    op<"aten::linalg_cond(Tensor self, Scalar? p=None) -> Tensor", cond>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_cond.p_str(Tensor self, str p) -> Tensor", cond_named>.with({.autocast = AutocastRule::float32}),
    op<"aten::norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor", norm_except_dim>,
    op<"aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor", weight_norm>,
};
// clang-format on

}  // namespace

std::span<const OpDef> products_ops() { return kProductsOps; }

}  // namespace pt2::ops
