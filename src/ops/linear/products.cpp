// Products, powers and norms of vectors and matrices, composed of other operators.
#include <algorithm>
#include <cmath>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/linear/matmul.h"
#include "ops/linear/matrices.h"
#include "ops/loops.h"
#include "ops/op_def.h"
#include "ops/shape/view.h"

namespace pt2::ops {
namespace {

bool is_complex(const Tensor& tensor) {
  return dtype_category(tensor.dtype()) == DtypeCategory::complex;
}
Result<Tensor> conjugate(const Tensor& tensor) {
  if (!is_complex(tensor)) return tensor;
  return apply(aten<"_conj_physical.default">, {tensor});
}

Result<Tensor> adjoint(const Tensor& self) {
  if (self.dim() == 0) return conjugate(self);
  PT2_TRY_VOID(check_rank_at_least(self, 2, "self"));
  PT2_TRY(const Tensor turned, transpose(self, -2, -1));
  return conjugate(turned);
}
Result<Tensor> matrix_h(const Tensor& self) {
  if (self.dim() != 0) PT2_TRY_VOID(check_rank(self, 2, "self"));
  return adjoint(self);
}

// --- Vectors

Result<Tensor> vdot(const Tensor& self, const Tensor& other) {
  PT2_TRY(const Tensor left, conjugate(self));
  return apply(aten<"dot.default">, {left, other});
}
Result<Tensor> vecdot(const Tensor& x, const Tensor& y, int64_t dim) {
  PT2_TRY(const Tensor left, conjugate(x));
  PT2_TRY(const Tensor product, apply(aten<"mul.Tensor">, {left, y}));
  return apply(aten<"sum.dim_IntList">, {product, Value::List{dim}});
}
Result<Tensor> inner(const Tensor& self, const Tensor& other) {
  if (self.dim() == 0 || other.dim() == 0) return apply(aten<"mul.Tensor">, {self, other});
  if (self.size(self.dim() - 1) != other.size(other.dim() - 1))
    return operator_error("other: found " + other.type_text() + ", expected the last size of " +
                          self.type_text());
  return apply(aten<"tensordot.default">,
               {self, other, Value::List{int64_t{-1}}, Value::List{int64_t{-1}}});
}
// Every element of self times the whole of other.
Result<Tensor> kron(const Tensor& self, const Tensor& other) {
  const int64_t rank = std::max(self.dim(), other.dim());
  Sizes left;
  Sizes right;
  Sizes out;
  for (int64_t dim = 0; dim < rank; ++dim) {
    auto size = [&](const Tensor& tensor) {
      const int64_t lead = rank - tensor.dim();
      return dim < lead ? 1 : tensor.size(dim - lead);
    };
    left.insert(left.end(), {size(self), 1});
    right.insert(right.end(), {1, size(other)});
    PT2_TRY(const int64_t product, multiply_add(size(self), size(other)));
    out.push_back(product);
  }
  PT2_TRY(const Tensor a, reshape(self, left));
  PT2_TRY(const Tensor b, reshape(other, right));
  PT2_TRY(const Tensor products, apply(aten<"mul.Tensor">, {a, b}));
  return reshape(products, out);
}
Result<Tensor> dist(const Tensor& self, const Tensor& other, const Scalar& p) {
  PT2_TRY(const Tensor difference, apply(aten<"sub.Tensor">, {self, other}));
  return apply(aten<"norm.Scalar">, {difference, box(p)});
}

// dim -1 stands for the first dim of size 3.
Result<Tensor> cross(const Tensor& self, const Tensor& other, const std::optional<int64_t>& dim) {
  if (dim) return apply(aten<"linalg_cross.default">, {self, other, *dim});
  for (int64_t i = 0; i < self.dim(); ++i)
    if (self.size(i) == 3) return apply(aten<"linalg_cross.default">, {self, other, i});
  return operator_error("self: found " + self.type_text() + ", expected a dim of size 3");
}

// --- Matrices

Result<Tensor> matrix_power(const Tensor& self, int64_t n) {
  PT2_TRY_VOID(check_square(self, "self"));
  Tensor base = self;
  // Unsigned: the smallest int64 has no negative.
  uint64_t exponent = static_cast<uint64_t>(n);
  if (n < 0) {
    PT2_TRY(base, apply(aten<"linalg_inv.default">, {self}));
    exponent = ~exponent + 1;
  }
  if (n == 0) {
    PT2_TRY(Tensor out, allocate(Meta(self.dtype(), self.sizes())));
    Tensor diagonals = out.with_view(
        [&] {
          Sizes sizes = batch_of(out);
          sizes.push_back(out.size(out.dim() - 1));
          return sizes;
        }(),
        [&] {
          Sizes strides(out.strides().begin(), out.strides().end() - 2);
          strides.push_back(out.stride(out.dim() - 1) + out.stride(out.dim() - 2));
          return strides;
        }(),
        0);
    fill_elements(diagonals, Scalar(1));
    return out;
  }
  std::optional<Tensor> result;
  for (;; exponent >>= 1) {
    if (exponent & 1) {
      PT2_TRY(Tensor product, result ? matmul(*result, base) : Result<Tensor>(base));
      result = std::move(product);
    }
    if (exponent == 1) return *std::move(result);
    PT2_TRY(base, matmul(base, base));
  }
}

// Multiplies in the given order: the fastest order would give the same product.
Result<Tensor> multi_dot(const Tensors& tensors) {
  if (tensors.size() < 2)
    return operator_error("tensors: found " + std::to_string(tensors.size()) +
                          ", expected at least 2");
  for (size_t i = 0; i < tensors.size(); ++i) {
    const bool end = i == 0 || i + 1 == tensors.size();
    const int64_t rank = tensors[i].dim();
    if (rank != 2 && !(end && rank == 1))
      return operator_error("tensors: found " + tensors[i].type_text() + ", expected a matrix");
  }
  Tensor product = tensors[0];
  for (size_t i = 1; i < tensors.size(); ++i) {
    PT2_TRY(product, matmul(product, tensors[i]));
  }
  return product;
}
Result<Tensor> chain_matmul(const Tensors& matrices) {
  for (const Tensor& matrix : matrices) PT2_TRY_VOID(check_rank(matrix, 2, "matrices"));
  return matrices.size() == 1 ? Result<Tensor>(matrices[0]) : multi_dot(matrices);
}

// Taylor's series of A / 2^s, whose norm is below 1/2, squared s times.
template <class T>
void set_exponential(MatrixView<T> a) {
  using Numbers = std::vector<T>;
  const int64_t n = a.rows;
  const auto count = static_cast<size_t>(n * n);
  double norm = 0;
  for (int64_t j = 0; j < n; ++j) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += std::abs(a.at(i, j));
    norm = std::max(norm, sum);
  }
  int squarings = 0;
  if (std::isfinite(norm))
    while (std::ldexp(norm, -squarings) > 0.5) ++squarings;
  for (size_t i = 0; i < count; ++i) a.data[i] *= std::ldexp(1.0, -squarings);
  const auto view = [n](Numbers& numbers) { return MatrixView<T>{numbers.data(), n, n}; };
  constexpr int kTerms = 18;
  Numbers sum(count);
  set_identity(view(sum));
  Numbers term = sum;
  Numbers product(count);
  for (int k = 1; k <= kTerms; ++k) {
    multiply(view(term), a, view(product));
    for (size_t i = 0; i < count; ++i) sum[i] += term[i] = product[i] / static_cast<double>(k);
  }
  for (int i = 0; i < squarings; ++i) {
    multiply(view(sum), view(sum), view(product));
    sum.swap(product);
  }
  std::ranges::copy(sum, a.data);
}
Result<Tensor> matrix_exp(const Tensor& self) {
  if (dtype_size(self.dtype()) == 2 && dtype_category(self.dtype()) == DtypeCategory::floating) {
    PT2_TRY(const Tensor wide, apply(aten<"to.dtype">, {self, Dtype::float32}));
    PT2_TRY(const Tensor result, matrix_exp(wide));
    return apply(aten<"to.dtype">, {result, self.dtype()});
  }
  PT2_TRY_VOID(check_square(self, "self"));
  return with_field(self, [&]<class T>() -> Result<Tensor> {
    PT2_TRY(Matrices<T> matrices, Matrices<T>::copy_of(self));
    for (int64_t i = 0; i < matrices.count(); ++i) set_exponential(matrices[i]);
    return result_of(matrices.tensor(), self.dtype(), true);
  });
}

// The powers 0, 1, ... of every element, along one more dimension; integers give int64.
Result<Tensor> vander_powers(const Tensor& x, int64_t count) {
  const Dtype dtype =
      dtype_category(x.dtype()) < DtypeCategory::floating ? Dtype::int64 : x.dtype();
  PT2_TRY(const Tensor column, unsqueeze(x, -1));
  PT2_TRY(const Tensor base, apply(aten<"to.dtype">, {column, dtype}));
  PT2_TRY(const Tensor exponents, apply(aten<"arange.default">, {count, Dtype::int64}));
  PT2_TRY(const Tensor powers, apply(aten<"pow.Tensor_Tensor">, {base, exponents}));
  return apply(aten<"to.dtype">, {powers, dtype});
}
Result<Tensor> linalg_vander(const Tensor& x, const std::optional<int64_t>& count) {
  PT2_TRY(const Tensor row, x.dim() == 0 ? unsqueeze(x, 0) : Result<Tensor>(x));
  const int64_t columns = count.value_or(row.size(row.dim() - 1));
  if (columns < 2)
    return operator_error("N: found " + std::to_string(columns) + ", expected at least 2");
  return vander_powers(row, columns);
}
Result<Tensor> vander(const Tensor& x, const std::optional<int64_t>& count, bool increasing) {
  PT2_TRY_VOID(check_rank(x, 1, "x"));
  const int64_t columns = count.value_or(x.size(0));
  if (columns < 0) return operator_error("N: found " + std::to_string(columns));
  PT2_TRY(const Tensor powers, vander_powers(x, columns));
  return increasing ? Result<Tensor>(powers)
                    : apply(aten<"flip.default">, {powers, Value::List{int64_t{1}}});
}

Result<Tensor> linalg_diagonal(const Tensor& a, int64_t offset, int64_t dim1, int64_t dim2) {
  return diagonal(a, offset, dim1, dim2);
}

Result<Tensor> tensorinv(const Tensor& self, int64_t ind) {
  if (ind < 1 || ind > self.dim())
    return operator_error("ind: found " + std::to_string(ind) + ", expected 1 to " +
                          std::to_string(self.dim()));
  Sizes end(self.sizes().begin() + ind, self.sizes().end());
  int64_t rows = 1;
  int64_t columns = 1;
  for (int64_t dim = 0; dim < self.dim(); ++dim) (dim < ind ? rows : columns) *= self.size(dim);
  if (rows != columns)
    return operator_error("self: found " + self.type_text() + ", expected equal products of sizes");
  PT2_TRY(const Tensor flat, reshape(self, {rows, columns}));
  PT2_TRY(const Tensor inverse, apply(aten<"linalg_inv.default">, {flat}));
  end.insert(end.end(), self.sizes().begin(), self.sizes().begin() + ind);
  return reshape(inverse, end);
}
Result<Tensor> tensorsolve(const Tensor& self, const Tensor& other,
                           const std::optional<Sizes>& dims) {
  Tensor moved = self;
  if (dims) {
    Sizes ends;
    for (size_t i = 0; i < dims->size(); ++i)
      ends.push_back(static_cast<int64_t>(i) - static_cast<int64_t>(dims->size()));
    PT2_TRY(moved, movedim(self, *dims, ends));
  }
  if (other.dim() > moved.dim())
    return operator_error("other: found " + other.type_text() + " for " + self.type_text());
  const Sizes sizes(moved.sizes().begin() + other.dim(), moved.sizes().end());
  const auto columns = checked_numel(sizes);
  if (!columns || *columns != other.numel())
    return operator_error("other: found " + other.type_text() + " for " + self.type_text());
  PT2_TRY(const Tensor matrix, reshape(moved, {other.numel(), *columns}));
  PT2_TRY(const Tensor side, reshape(other, {other.numel()}));
  PT2_TRY(const Tensor solution, apply(aten<"linalg_solve.default">, {matrix, side}));
  return reshape(solution, sizes);
}

Result<Tensor> addmm_activation(const Tensor& self, const Tensor& mat1, const Tensor& mat2,
                                const Scalar& beta, const Scalar& alpha, bool use_gelu) {
  PT2_TRY(const Tensor sum,
          apply(aten<"addmm.default">, {self, mat1, mat2, box(beta), box(alpha)}));
  return use_gelu ? apply(aten<"gelu.default">, {sum, std::string("tanh")})
                  : apply(aten<"relu.default">, {sum});
}

// sum(i1 * i2 * i3) over sumdim, after inserting dimensions of size 1 at each operand's `expand`
// dims.
Result<Tensor> trilinear(const Tensor& i1, const Tensor& i2, const Tensor& i3, const Sizes& expand1,
                         const Sizes& expand2, const Sizes& expand3, const Sizes& sumdim, int64_t) {
  auto expanded = [](Tensor tensor, Sizes dims) -> Result<Tensor> {
    std::ranges::sort(dims);
    for (int64_t dim : dims) {
      PT2_TRY(tensor, unsqueeze(tensor, dim));
    }
    return tensor;
  };
  PT2_TRY(const Tensor a, expanded(i1, expand1));
  PT2_TRY(const Tensor b, expanded(i2, expand2));
  PT2_TRY(const Tensor c, expanded(i3, expand3));
  PT2_TRY(const Tensor ab, apply(aten<"mul.Tensor">, {a, b}));
  PT2_TRY(const Tensor abc, apply(aten<"mul.Tensor">, {ab, c}));
  if (sumdim.empty()) return abc;
  PT2_TRY(const Tensor sum, apply(aten<"sum.dim_IntList">, {abc, box(sumdim)}));
  return apply(aten<"to.dtype">, {sum, abc.dtype()});
}

// --- Norms

Result<Tensor> matrix_norm(const Tensor& self, const Scalar& ord, const Sizes& dim, bool keepdim,
                           const std::optional<Dtype>& dtype) {
  if (dim.size() != 2) return operator_error("dim: found " + sizes_text(dim) + ", expected 2 dims");
  return apply(aten<"linalg_norm.default">, {self, box(ord), box(dim), keepdim, box(dtype)});
}
// The sum of singular values.
Result<Tensor> nuclear(const Tensor& self, const Sizes& dim, bool keepdim) {
  PT2_TRY(const std::vector<int64_t> dims, wrap_distinct_dims(dim, self.dim()));
  PT2_TRY(const Tensor last, movedim(self, dims, {-2, -1}));
  PT2_TRY(const Tensor values, apply(aten<"linalg_svdvals.default">, {last}));
  PT2_TRY(Tensor sum, apply(aten<"sum.dim_IntList">, {values, Value::List{int64_t{-1}}}));
  if (!keepdim) return sum;
  for (int64_t at : {std::min(dims[0], dims[1]), std::max(dims[0], dims[1])}) {
    PT2_TRY(sum, unsqueeze(sum, at));
  }
  return sum;
}
Result<Tensor> matrix_norm_named(const Tensor& self, const std::string& ord, const Sizes& dim,
                                 bool keepdim, const std::optional<Dtype>& dtype) {
  if (dim.size() != 2) return operator_error("dim: found " + sizes_text(dim) + ", expected 2 dims");
  PT2_TRY_VOID(check_rank_at_least(self, 2, "self"));
  if (ord == "fro")
    return apply(aten<"linalg_vector_norm.default">, {self, 2.0, box(dim), keepdim, box(dtype)});
  if (ord != "nuc") return operator_error("ord: found '" + ord + "', expected 'fro' or 'nuc'");
  PT2_TRY(const Tensor cast,
          dtype ? apply(aten<"to.dtype">, {self, *dtype}) : Result<Tensor>(self));
  return nuclear(cast, dim, keepdim);
}
Result<Tensor> norm_named(const Tensor& self, const std::string& ord,
                          const std::optional<Sizes>& dim, bool keepdim,
                          const std::optional<Dtype>& dtype) {
  if (!dim) PT2_TRY_VOID(check_rank(self, 2, "self"));
  return matrix_norm_named(self, ord, dim.value_or(Sizes{0, 1}), keepdim, dtype);
}
Result<Tensor> nuclear_norm(const Tensor& self, bool keepdim) {
  PT2_TRY_VOID(check_rank(self, 2, "self"));
  return nuclear(self, {0, 1}, keepdim);
}
Result<Tensor> nuclear_norm_dim(const Tensor& self, const Sizes& dim, bool keepdim) {
  if (dim.size() != 2) return operator_error("dim: found " + sizes_text(dim) + ", expected 2 dims");
  return nuclear(self, dim, keepdim);
}

// The largest singular value divided by the smallest, or the norm times that of the inverse.
Result<Tensor> cond_named(const Tensor& self, const std::string& p) {
  PT2_TRY_VOID(check_square(self, "self"));
  PT2_TRY(const Tensor inverse, apply(aten<"linalg_inv.default">, {self}));
  PT2_TRY(const Tensor a, matrix_norm_named(self, p, {-2, -1}, false, std::nullopt));
  PT2_TRY(const Tensor b, matrix_norm_named(inverse, p, {-2, -1}, false, std::nullopt));
  return apply(aten<"mul.Tensor">, {a, b});
}
Result<Tensor> cond(const Tensor& self, const std::optional<Scalar>& p) {
  PT2_TRY_VOID(check_matrices(self, "self"));
  const double order = p ? p->to_double() : 2;
  if (std::fabs(order) == 2) {
    PT2_TRY(const Tensor values, apply(aten<"linalg_svdvals.default">, {self}));
    PT2_TRY(const Tensor first, select(values, -1, 0));
    PT2_TRY(const Tensor last, select(values, -1, -1));
    return order > 0 ? apply(aten<"div.Tensor">, {first, last})
                     : apply(aten<"div.Tensor">, {last, first});
  }
  PT2_TRY_VOID(check_square(self, "self"));
  PT2_TRY(const Tensor inverse, apply(aten<"linalg_inv.default">, {self}));
  PT2_TRY(const Tensor a, matrix_norm(self, order, {-2, -1}, false, std::nullopt));
  PT2_TRY(const Tensor b, matrix_norm(inverse, order, {-2, -1}, false, std::nullopt));
  return apply(aten<"mul.Tensor">, {a, b});
}

Result<Tensor> norm_except_dim(const Tensor& v, int64_t pow, int64_t dim) {
  if (dim == -1) return apply(aten<"norm.Scalar">, {v, pow});
  PT2_TRY(const int64_t kept, wrap_dim(dim, v.dim()));
  Value::List others;
  for (int64_t i = 0; i < v.dim(); ++i)
    if (i != kept) others.emplace_back(i);
  if (others.empty()) return apply(aten<"abs.default">, {v});
  return apply(aten<"norm.ScalarOpt_dim">, {v, pow, std::move(others), true});
}
Result<Tensor> weight_norm(const Tensor& v, const Tensor& g, int64_t dim) {
  PT2_TRY(const Tensor norm, norm_except_dim(v, 2, dim));
  PT2_TRY(const Tensor scale, apply(aten<"div.Tensor">, {g, norm}));
  return apply(aten<"mul.Tensor">, {v, scale});
}

// clang-format off
constexpr OpDef kOps[] = {
    op<"aten::mH(Tensor(a) self) -> Tensor(a)", adjoint>.with({.sharing = Sharing::unless_complex, .inverse = Inverse::repeat, .composite = true}),
    op<"aten::adjoint(Tensor(a) self) -> Tensor(a)", adjoint>.with({.sharing = Sharing::unless_complex, .inverse = Inverse::repeat, .composite = true}),
    op<"aten::matrix_H(Tensor(a) self) -> Tensor(a)", matrix_h>.with({.sharing = Sharing::unless_complex, .inverse = Inverse::repeat, .composite = true}),
    op<"aten::vdot(Tensor self, Tensor other) -> Tensor", vdot>,
    op<"aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor", vecdot>.with({.autocast = AutocastRule::lower_precision, .composite = true}),
    op<"aten::inner(Tensor self, Tensor other) -> Tensor", inner>.with({.composite = true}),
    op<"aten::kron(Tensor self, Tensor other) -> Tensor", kron>.with({.composite = true}),
    op<"aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor", dist>,
    op<"aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor", cross>.with({.composite = true}),
    op<"aten::matrix_power(Tensor self, int n) -> Tensor", matrix_power>.with({.composite = true}),
    op<"aten::linalg_matrix_power(Tensor self, int n) -> Tensor", matrix_power>.with({.sharing = Sharing::possibly, .composite = true}),
    op<"aten::linalg_multi_dot(Tensor[] tensors) -> Tensor", multi_dot>.with({.autocast = AutocastRule::lower_precision, .composite = true}),
    op<"aten::chain_matmul(Tensor[] matrices) -> Tensor", chain_matmul>.with({.autocast = AutocastRule::lower_precision, .sharing = Sharing::possibly, .composite = true}),
    op<"aten::matrix_exp(Tensor self) -> Tensor", matrix_exp>.with({.composite = true}),
    op<"aten::linalg_matrix_exp(Tensor self) -> Tensor", matrix_exp>,
    op<"aten::linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor", linalg_vander>.with({.composite = true}),
    op<"aten::vander(Tensor x, SymInt? N=None, bool increasing=False) -> Tensor", vander>.with({.composite = true}),
    op<"aten::linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)", linalg_diagonal>.with({.slope = Slope::linear, .linear_in = "A", .composite = true}),
    op<"aten::linalg_tensorinv(Tensor self, int ind=2) -> Tensor", tensorinv>.with({.autocast = AutocastRule::float32, .composite = true}),
    op<"aten::linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor", tensorsolve>.with({.autocast = AutocastRule::float32, .composite = true}),
    op<"aten::_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, bool use_gelu=False) -> Tensor", addmm_activation>.with({.autocast = AutocastRule::lower_precision}),
    op<"aten::_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int unroll_dim=1) -> Tensor", trilinear>,
    op<"aten::linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", matrix_norm>.with({.composite = true}),
    op<"aten::linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", matrix_norm_named>.with({.composite = true}),
    op<"aten::linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", norm_named>.with({.composite = true}),
    op<"aten::nuclear_norm(Tensor self, bool keepdim=False) -> Tensor", nuclear_norm>.with({.composite = true}),
    op<"aten::nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor", nuclear_norm_dim>.with({.composite = true}),
    op<"aten::linalg_cond(Tensor self, Scalar? p=None) -> Tensor", cond>.with({.autocast = AutocastRule::float32, .composite = true}),
    op<"aten::linalg_cond.p_str(Tensor self, str p) -> Tensor", cond_named>.with({.autocast = AutocastRule::float32, .composite = true}),
    op<"aten::norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor", norm_except_dim>.with({.composite = true}),
    composed<"aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor", like_first, weight_norm>.with({.composite = true}),
};
// clang-format on

}  // namespace

std::span<const OpDef> products_ops() { return kOps; }

}  // namespace pt2::ops
