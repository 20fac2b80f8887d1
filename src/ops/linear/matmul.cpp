// Products of matrices and vectors.
#include "ops/linear/matmul.h"

#include <algorithm>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/linear/gemm.h"
#include "ops/linear/matrices.h"
#include "ops/loops.h"
#include "ops/op_def.h"
#include "ops/pointwise/copying.h"
#include "ops/pointwise/pointwise.h"

namespace pt2::ops {
namespace {

// A complex64 matrix as a float matrix of twice as many lines: the real parts of its lines, then
// the imaginary parts.
class PartsOperand : public GemmOperand<float> {
 public:
  PartsOperand(const MatrixOperand<Complex>& matrix, int64_t lines, int64_t depth)
      : depth_(depth), parts_(static_cast<size_t>(2 * lines * depth)) {
    constexpr int64_t kAtOnce = 128;
    Complex numbers[kAtOnce];
    for (int64_t line = 0; line < lines; ++line)
      for (int64_t k = 0; k < depth; k += kAtOnce) {
        const int64_t count = std::min(kAtOnce, depth - k);
        matrix.load(line, 1, k, count, 1, numbers);
        for (int64_t i = 0; i < count; ++i) {
          part(line)[k + i] = static_cast<float>(numbers[i].real());
          part(lines + line)[k + i] = static_cast<float>(numbers[i].imag());
        }
      }
  }
  void load(int64_t first_line, int64_t lines, int64_t first_k, int64_t depth, int64_t width,
            float* panel) const override {
    for (int64_t line = 0; line < lines; ++line)
      for (int64_t k = 0; k < depth; ++k)
        panel[k * width + line] =
            parts_[static_cast<size_t>((first_line + line) * depth_ + first_k + k)];
  }
  std::optional<OperandMemory> in_place() const override {
    return OperandMemory{reinterpret_cast<const std::byte*>(parts_.data()), Dtype::float32, depth_,
                         1};
  }

 private:
  float* part(int64_t line) { return parts_.data() + line * depth_; }

  int64_t depth_;
  Scratch<float> parts_;
};

// One product of floats computes all products of real and imaginary parts; they are then combined.
void multiply_complex64(int64_t rows, int64_t columns, int64_t depth,
                        const MatrixOperand<Complex>& left, const MatrixOperand<Complex>& right,
                        Complex* out) {
  Scratch<float> parts(static_cast<size_t>(4 * rows * columns));
  gemm<float>(2 * rows, 2 * columns, depth, PartsOperand(left, rows, depth),
              PartsOperand(right, columns, depth), parts.data(), 2 * columns, 1);
  for (int64_t i = 0; i < rows; ++i) {
    const float* real = parts.data() + i * 2 * columns;
    const float* imaginary = parts.data() + (rows + i) * 2 * columns;
    for (int64_t j = 0; j < columns; ++j)
      out[i * columns + j] = {real[j] - imaginary[columns + j], real[columns + j] + imaginary[j]};
  }
}

template <class C>
void products(C* out, const Tensor& left, const Tensor& right) {
  const int64_t rows = rows_of(left), depth = columns_of(left), columns = columns_of(right);
  if (rows == 0 || columns == 0) return;
  for (int64_t batch = 0; batch < batch_count(left); ++batch) {
    const auto a = row_operand<C>(left, batch);
    const auto b = column_operand<C>(right, batch);
    C* product = out + batch * rows * columns;
    if constexpr (std::is_same_v<C, Complex>)
      if (left.dtype() == Dtype::complex64) {
        multiply_complex64(rows, columns, depth, a, b, product);
        continue;
      }
    gemm<C>(rows, columns, depth, a, b, product, columns, 1);
  }
}

Tensor matrix_view(const Tensor& tensor, Sizes sizes) {
  const Tensor dense = tensor.contiguous();
  Sizes strides = contiguous_strides(sizes);
  return dense.with_view(std::move(sizes), std::move(strides), dense.storage_offset());
}

// A vector on the left of a product is a row, one on the right is a column.
Tensor as_rows(const Tensor& left) {
  if (left.dim() != 1) return left;
  return left.with_view({1, left.size(0)}, {1, left.stride(0)}, left.storage_offset());
}
Tensor as_columns(const Tensor& right) {
  if (right.dim() != 1) return right;
  return right.with_view({right.size(0), 1}, {right.stride(0), 1}, right.storage_offset());
}

Result<void> check_operands(const Tensor& self, const Tensor& other) {
  PT2_TRY_VOID(check_same_dtype(other, self, "the second matrix"));
  if (self.dtype() == Dtype::bool_) return operator_error("found bool matrices, expected numbers");
  return {};
}

Result<void> check_inner(int64_t left, int64_t right, const Tensor& self, const Tensor& other) {
  if (left != right)
    return operator_error("matrices " + sizes_text(self.sizes()) + " and " +
                          sizes_text(other.sizes()) + " do not multiply: found " +
                          std::to_string(right) + " rows, expected " + std::to_string(left));
  return {};
}

Result<Meta> matmul_meta(const Tensor& self, const Tensor& other) {
  PT2_TRY_VOID(check_rank_at_least(self, 1, "self"));
  PT2_TRY_VOID(check_rank_at_least(other, 1, "other"));
  PT2_TRY_VOID(check_operands(self, other));
  const Tensor left = as_rows(self);
  const Tensor right = as_columns(other);
  PT2_TRY_VOID(check_inner(columns_of(left), rows_of(right), self, other));
  PT2_TRY(Sizes sizes, broadcast_sizes(std::array{batch_of(left), batch_of(right)}));
  if (self.dim() > 1) sizes.push_back(rows_of(left));
  if (other.dim() > 1) sizes.push_back(columns_of(right));
  return Meta(self.dtype(), std::move(sizes));
}

// The rules of the products that take operands of one rank only.
template <int64_t Rank, int64_t OtherRank>
Result<Meta> ranked_product_meta(const Tensor& self, const Tensor& other) {
  PT2_TRY_VOID(check_rank(self, Rank, "self"));
  PT2_TRY_VOID(check_rank(other, OtherRank, "the second operand"));
  return matmul_meta(self, other);
}
Result<Meta> bmm_meta(const Tensor& self, const Tensor& mat2) {
  PT2_TRY(Meta meta, (ranked_product_meta<3, 3>(self, mat2)));
  if (self.size(0) != mat2.size(0))
    return operator_error("batches differ: found " + std::to_string(mat2.size(0)) + ", expected " +
                          std::to_string(self.size(0)));
  return meta;
}

// The Meta of beta * self + alpha * product, shared by the add... operators.
Result<Meta> added_meta(const Tensor& self, const Meta& product, const Scalar& beta,
                        const Scalar& alpha) {
  PT2_TRY_VOID(check_dtype(self, product.dtype, "self"));
  PT2_TRY_VOID(check_broadcasts(self.sizes(), product.sizes, "self"));
  return with_numbers(product, {beta, alpha});
}

template <class C>
C scaled_sum(C a, C x, C b, C y) {
  if constexpr (std::is_same_v<C, int64_t>)
    return plus(times(a, x), times(b, y));
  else
    return a * x + b * y;
}

// out = beta * self + alpha * product. `product` has the compute dtype. With beta = 0, self is not
// read, so that its NaNs do not propagate.
template <class C>
void add_scaled(Tensor& out, const Tensor& self, const Tensor& product, const Scalar& beta,
                const Scalar& alpha) {
  const C a = scalar_as<C>(alpha);
  const C b = scalar_as<C>(beta);
  const Dtype common = kDtypeOf<C>;
  if (b == C(0)) {
    elementwise<C>(
        out, common, [a](C p) { return scaled_sum(a, p, C(0), C(0)); }, product);
    return;
  }
  elementwise<C>(
      out, common, [a, b](C s, C p) { return scaled_sum(a, p, b, s); }, self, product);
}

void add_product(Tensor& out, const Tensor& self, const Tensor& left, const Tensor& right,
                 const Scalar& beta, const Scalar& alpha) {
  with_compute_type(out.dtype(), [&]<class C>() {
    Tensor product = Tensor::zeros(kDtypeOf<C>, out.sizes());
    products<C>(product.data<C>(), left, right);
    add_scaled<C>(out, self, product, beta, alpha);
  });
}

template <auto ProductMeta>
Result<Meta> scaled_sum_meta(const Tensor& self, const Tensor& left, const Tensor& right,
                             const Scalar& beta, const Scalar& alpha) {
  PT2_TRY(const Meta product, ProductMeta(left, right));
  return added_meta(self, product, beta, alpha);
}

Result<Meta> addbmm_meta(const Tensor& self, const Tensor& batch1, const Tensor& batch2,
                         const Scalar& beta, const Scalar& alpha) {
  PT2_TRY(Meta product, bmm_meta(batch1, batch2));
  product.sizes.erase(product.sizes.begin());
  return added_meta(self, product, beta, alpha);
}

// The sum over the batch is one matrix product of depth batch * inner size.
void addbmm(Tensor& out, const Tensor& self, const Tensor& batch1, const Tensor& batch2,
            const Scalar& beta, const Scalar& alpha) {
  const int64_t depth = batch1.size(0) * batch1.size(2);
  const std::array<int64_t, 2> order{0, 2};
  const Tensor left = matrix_view(dims_last(batch1, order), {batch1.size(1), depth});
  const Tensor right = matrix_view(batch2, {depth, batch2.size(2)});
  add_product(out, self, left, right, beta, alpha);
}

// The product of a matrix or vector with a vector.
void vector_product(Tensor& out, const Tensor& self, const Tensor& vector) {
  Tensor column = out.with_view({out.numel(), 1}, {1, 1}, out.storage_offset());
  batched_product(column, as_rows(self), as_columns(vector));
}

void addmv(Tensor& out, const Tensor& self, const Tensor& mat, const Tensor& vec,
           const Scalar& beta, const Scalar& alpha) {
  add_product(out, self, mat, as_columns(vec), beta, alpha);
}

Result<Meta> outer_meta(const Tensor& self, const Tensor& vec2) {
  PT2_TRY_VOID(check_rank(self, 1, "self"));
  PT2_TRY_VOID(check_rank(vec2, 1, "vec2"));
  return Meta(Promotion().add(self).add(vec2).result(), {self.size(0), vec2.size(0)});
}

Result<Meta> addr_meta(const Tensor& self, const Tensor& vec1, const Tensor& vec2,
                       const Scalar& beta, const Scalar& alpha) {
  PT2_TRY(Meta product, outer_meta(vec1, vec2));
  product.dtype = promote_types(product.dtype, self.dtype());
  PT2_TRY_VOID(check_broadcasts(self.sizes(), product.sizes, "self"));
  if (dtype_category(product.dtype) < DtypeCategory::floating &&
      (!beta.is_integral() || !alpha.is_integral()))
    return operator_error("alpha and beta: found a float, expected ints for vectors of ints");
  return product;
}

// ATen/native/cpu/LinearAlgebraKernel.cpp addr_kernel: operands are cast first, each step rounds,
// and with beta = 0 self is not read. For bool, any non-zero factor counts as true.
Result<Tensor> addr(Emitter& e, const Tensor& self, const Tensor& vec1, const Tensor& vec2,
                    const Scalar& beta, const Scalar& alpha) {
  PT2_TRY(const Meta meta, addr_meta(self, vec1, vec2, beta, alpha));
  const auto cast = [&](const Tensor& tensor) { return converted(e, tensor, meta.dtype); };
  const auto scaled = [&](const Result<Tensor>& tensor, const Scalar& factor) {
    const Complex number = factor.to_complex();
    const bool is_bool = meta.dtype == Dtype::bool_;
    if (number == 1.0 || (is_bool && number != 0.0)) return tensor;
    return e(aten<"mul.Scalar">, {tensor, is_bool ? Scalar(false) : factor});
  };
  const auto product = scaled(
      e(aten<"mul.Tensor">, {e(aten<"unsqueeze.default">, {cast(vec1), 1}), cast(vec2)}), alpha);
  if (beta.to_complex() == 0.0) return product;
  return e(aten<"add.Tensor">, {scaled(cast(self), beta), product});
}

// The Meta of x w^T + b, with x flattened to a matrix.
Result<Meta> linear_meta(const Tensor& input, const Tensor& weight, const OptionalTensor& bias) {
  PT2_TRY_VOID(check_rank_at_least(input, 1, "input"));
  if (weight.dim() != 1) PT2_TRY_VOID(check_rank(weight, 2, "weight"));
  PT2_TRY_VOID(check_operands(input, weight));
  const int64_t features = input.size(input.dim() - 1);
  if (features != weight.size(weight.dim() - 1))
    return operator_error("input: found " + std::to_string(features) + " features, expected " +
                          std::to_string(weight.size(weight.dim() - 1)));
  Sizes sizes(input.sizes().begin(), input.sizes().end() - 1);
  if (weight.dim() == 2) sizes.push_back(weight.size(0));
  if (bias) {
    PT2_TRY_VOID(check_same_dtype(*bias, input, "bias"));
    PT2_TRY_VOID(check_broadcasts(bias->sizes(), sizes, "bias"));
  }
  return Meta(input.dtype(), std::move(sizes));
}

void linear_kernel(Tensor& out, const Tensor& input, const Tensor& weight,
                   const OptionalTensor& bias) {
  if (out.numel() == 0) return;
  const int64_t features = input.size(input.dim() - 1);
  const Tensor matrix = as_rows(weight);
  const Tensor right = matrix.with_view(
      {features, matrix.size(0)}, {matrix.stride(1), matrix.stride(0)}, matrix.storage_offset());
  const int64_t rows = out.numel() / matrix.size(0);
  const Tensor left = matrix_view(input, {rows, features});
  with_compute_type(out.dtype(), [&]<class C>() {
    Tensor product = Tensor::zeros(kDtypeOf<C>, out.sizes());
    products<C>(product.data<C>(), left, right);
    if (bias)
      add_scaled<C>(out, *bias, product, Scalar(1), Scalar(1));
    else
      copy_elements(out, product);
  });
}

Result<Meta> bilinear_meta(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                           const OptionalTensor& bias) {
  PT2_TRY_VOID(check_rank_at_least(input1, 1, "input1"));
  PT2_TRY_VOID(check_rank(weight, 3, "weight"));
  PT2_TRY_VOID(check_operands(input1, input2));
  PT2_TRY_VOID(check_operands(input1, weight));
  Sizes sizes(input1.sizes().begin(), input1.sizes().end() - 1);
  Sizes expected = sizes;
  expected.push_back(weight.size(2));
  PT2_TRY_VOID(check_sizes(input2, expected, "input2"));
  PT2_TRY_VOID(check_inner(weight.size(1), input1.size(input1.dim() - 1), weight, input1));
  sizes.push_back(weight.size(0));
  if (bias) PT2_TRY_VOID(check_sizes(*bias, {weight.size(0)}, "bias"));
  return Meta(input1.dtype(), std::move(sizes));
}

// ATen/native/Linear.cpp bilinear.
Result<Tensor> bilinear_formula(Emitter& e, const Tensor& input1, const Tensor& input2,
                                const Tensor& weight, const OptionalTensor& bias) {
  PT2_TRY(const Meta meta, bilinear_meta(input1, input2, weight, bias));
  const auto rows = [&](const Tensor& x) {
    return e(aten<"reshape.default">, {x, Sizes{-1, x.sizes().back()}});
  };
  const auto left = rows(input1);
  const auto product = e(aten<"_trilinear.default">, {left, weight, rows(input2), Sizes{1, 3},
                                                      Sizes{0}, Sizes{1, 2}, Sizes{2, 3}});
  const auto out = e(aten<"reshape.default">, {product, meta.sizes});
  return bias ? e(aten<"add.Tensor">, {out, *bias}) : out;
}

// y[n, o] = sum over i, j of x1[n, i] w[o, i, j] x2[n, j] + b[o].
Result<void> bilinear(Tensor& out, const Tensor& input1, const Tensor& input2, const Tensor& weight,
                      const OptionalTensor& bias) {
  // The loops below compute in real floating numbers.
  if (dtype_category(out.dtype()) != DtypeCategory::floating) {
    Context context;
    Runner runner(context);
    PT2_TRY(const Tensor sum, bilinear_formula(runner, input1, input2, weight, bias));
    copy_elements(out, sum);
    return {};
  }
  with_float_compute_type(out.dtype(), [&]<class C>() {
    const Input<C> x1(input1);
    const Input<C> x2(input2);
    const Input<C> w(weight);
    const Input<C> b(bias ? *bias : Tensor::zeros(kDtypeOf<C>, {weight.size(0)}));
    Output<C> y(out);
    const int64_t outputs = weight.size(0), first = weight.size(1), second = weight.size(2);
    const int64_t rows = outputs == 0 ? 0 : out.numel() / outputs;
    Scratch<C> products(static_cast<size_t>(rows * second));
    for (int64_t o = 0; o < outputs; ++o) {
      gemm<C>(rows, second, first, MatrixOperand<C>(x1.data(), first, 1),
              MatrixOperand<C>(w.data() + o * first * second, 1, second), products.data(), second,
              1);
      for (int64_t n = 0; n < rows; ++n) {
        const C* line = products.data() + n * second;
        const C* other = x2.data() + n * second;
        double sum = b[o];
        for (int64_t k = 0; k < second; ++k)
          sum += static_cast<double>(line[k]) * static_cast<double>(other[k]);
        y[n * outputs + o] = static_cast<C>(sum);
      }
    }
  });
  return {};
}

// The rows of all matrices of a batch as one matrix.
Result<Tensor> as_matrix(Emitter& e, const Tensor& tensor) {
  if (tensor.dim() == 2) return tensor;
  int64_t rows = 1;
  for (int64_t dim = 0; dim + 1 < tensor.dim(); ++dim) {
    PT2_TRY(rows, multiply_add(rows, tensor.size(dim)));
  }
  return e(aten<"reshape.default">, {tensor, Sizes{rows, tensor.size(tensor.dim() - 1)}});
}

Result<Tensor> linear_formula(Emitter& e, const Tensor& input, const Tensor& weight,
                              const OptionalTensor& bias) {
  PT2_TRY(const Meta meta, linear_meta(input, weight, bias));
  if (weight.dim() == 1) {
    const auto product = e(aten<"matmul.default">, {input, weight});
    return bias ? e(aten<"add.Tensor">, {product, *bias}) : product;
  }
  const auto columns = e(aten<"permute.default">, {weight, Sizes{1, 0}});
  PT2_TRY(const Tensor rows, as_matrix(e, input));
  const bool adds = bias && bias->dim() <= 1;
  const auto product = adds ? e(aten<"addmm.default">, {*bias, rows, columns})
                            : e(aten<"mm.default">, {rows, columns});
  const auto out = input.dim() == 2 ? product : e(aten<"view.default">, {product, meta.sizes});
  return bias && !adds ? e(aten<"add.Tensor">, {out, *bias}) : out;
}

// One tall product if the second operand is a matrix, else a batched product.
Result<Tensor> matmul_formula(Emitter& e, const Tensor& self, const Tensor& other) {
  PT2_TRY(const Meta meta, matmul_meta(self, other));
  if (self.dim() == 2 && other.dim() == 2) return e(aten<"mm.default">, {self, other});
  Tensor left = self, right = other;
  if (self.dim() == 1) {
    PT2_TRY(left, e(aten<"unsqueeze.default">, {self, 0}));
  }
  if (other.dim() == 1) {
    PT2_TRY(right, e(aten<"unsqueeze.default">, {other, 1}));
  }
  const int64_t columns = right.size(right.dim() - 1);
  if (right.dim() == 2) {
    const auto product = e(aten<"mm.default">, {as_matrix(e, left), right});
    return e(aten<"view.default">, {product, meta.sizes});
  }
  const size_t free = (self.dim() > 1 ? 1 : 0) + (other.dim() > 1 ? 1 : 0);
  const Sizes batch(meta.sizes.begin(), meta.sizes.end() - static_cast<int64_t>(free));
  int64_t count = 1;
  for (const int64_t size : batch) count *= size;
  const auto batched = [&](const Tensor& matrix) -> Result<Tensor> {
    const Sizes last(matrix.sizes().end() - 2, matrix.sizes().end());
    if (batch.size() == 1 && matrix.dim() == 3 && matrix.size(0) == batch[0]) return matrix;
    Sizes sizes = batch;
    sizes.insert(sizes.end(), last.begin(), last.end());
    const auto whole = e(aten<"expand.default">, {matrix, sizes});
    return e(aten<"reshape.default">, {whole, Sizes{count, last[0], last[1]}});
  };
  const auto product = e(aten<"bmm.default">, {batched(left), batched(right)});
  const Sizes flat{count, left.size(left.dim() - 2), columns};
  return meta.sizes == flat ? product : e(aten<"view.default">, {product, meta.sizes});
}

Result<Tensor> outer_formula(Emitter& e, const Tensor& self, const Tensor& vec2) {
  PT2_TRY_VOID(outer_meta(self, vec2));
  return e(aten<"mul.Tensor">, {e(aten<"unsqueeze.default">, {self, 1}), vec2});
}

// clang-format off
constexpr OpDef kMatmulOps[] = {
    op<"aten::mm(Tensor self, Tensor mat2) -> Tensor", ranked_product_meta<2, 2>, batched_product>.with({.autocast = AutocastRule::lower_precision}),
    op<"aten::bmm(Tensor self, Tensor mat2) -> Tensor", bmm_meta, batched_product>.with({.autocast = AutocastRule::lower_precision}),
    op<"aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
       scaled_sum_meta<ranked_product_meta<2, 2>>, add_product>.with({.autocast = AutocastRule::lower_precision}),
    op<"aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
       scaled_sum_meta<bmm_meta>, add_product>.with({.autocast = AutocastRule::lower_precision}),
    op<"aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
       addbmm_meta, addbmm>.with({.autocast = AutocastRule::lower_precision}),
    op<"aten::mv(Tensor self, Tensor vec) -> Tensor", ranked_product_meta<2, 1>, vector_product>,
    op<"aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
       scaled_sum_meta<ranked_product_meta<2, 1>>, addmv>,
    op<"aten::dot(Tensor self, Tensor tensor) -> Tensor", ranked_product_meta<1, 1>, vector_product>,
    composed<"aten::outer(Tensor self, Tensor vec2) -> Tensor", outer_meta, outer_formula>,
    composed<"aten::ger(Tensor self, Tensor vec2) -> Tensor", outer_meta, outer_formula>,
    op<"aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
       addr>,
    composed<"aten::matmul(Tensor self, Tensor other) -> Tensor", matmul_meta, matmul, matmul_formula>.with({.autocast = AutocastRule::lower_precision}),
    op<"aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", linear_meta, linear_kernel, linear_formula>.with({.autocast = AutocastRule::lower_precision}),
    op<"aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
       bilinear_meta, bilinear, bilinear_formula>,
};
// clang-format on

}  // namespace

void batched_product(Tensor& out, const Tensor& left, const Tensor& right) {
  with_compute_type(out.dtype(), [&]<class C>() {
    Output<C> product(out);
    products<C>(product.data(), left, right);
  });
}

Result<Tensor> matmul(const Tensor& self, const Tensor& other) {
  PT2_TRY(const Meta meta, matmul_meta(self, other));
  PT2_TRY(Tensor out, allocate(meta));
  if (out.numel() == 0) return out;
  Tensor left = as_rows(self);
  Tensor right = as_columns(other);
  const int64_t columns = right.size(right.dim() - 1);
  if (right.dim() == 2) {
    // One tall product instead of a batch of small ones.
    if (left.dim() > 2)
      left = matrix_view(left, {out.numel() / columns, left.size(left.dim() - 1)});
  } else {
    const auto free = (self.dim() > 1 ? 1 : 0) + (other.dim() > 1 ? 1 : 0);
    const Sizes batch(out.sizes().begin(), out.sizes().end() - free);
    left = with_batch(left, batch);
    right = with_batch(right, batch);
  }
  batched_product(out, left, right);
  return out;
}

Result<Tensor> linear(const Tensor& input, const Tensor& weight, const OptionalTensor& bias) {
  return compute<linear_meta, linear_kernel>(input, weight, bias);
}

std::span<const OpDef> matmul_ops() { return kMatmulOps; }

}  // namespace pt2::ops
