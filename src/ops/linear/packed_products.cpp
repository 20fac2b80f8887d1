// Products with quantised matrices; weight normalisation.
#include <algorithm>
#include <cmath>

#include "base/memory_account.h"
#include "kernels/products/integer_products.h"
#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/linear/gemm.h"
#include "ops/loops.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

Result<Meta> int_mm_meta(const Tensor& self, const Tensor& mat2) {
  // PyTorch also multiplies uint8 on CPUs (aten/src/ATen/native/LinearAlgebra.cpp,
  // _int_mm_out_cpu).
  if (self.dtype() != Dtype::uint8) PT2_TRY_VOID(check_dtype(self, Dtype::int8, "self"));
  PT2_TRY_VOID(check_dtype(mat2, Dtype::int8, "mat2"));
  PT2_TRY_VOID(check_rank(self, 2, "self"));
  PT2_TRY_VOID(check_rank(mat2, 2, "mat2"));
  PT2_TRY_VOID(check_sizes(mat2, {self.size(1), mat2.size(1)}, "mat2"));
  return Meta(Dtype::int32, {self.size(0), mat2.size(1)});
}

void int_mm(Tensor& out, const Tensor& self, const Tensor& mat2) {
  MemoryAccount::count_products({out.numel(), self.size(1)});
  Tensor sums = dense_result(out, Dtype::int32);
  const Tensor left = self.contiguous();
  const Tensor right = mat2.with_view({mat2.size(1), mat2.size(0)},
                                      {mat2.stride(1), mat2.stride(0)}, mat2.storage_offset())
                           .contiguous();
  kernels::multiply_integers({.rows = left.size(0),
                              .columns = right.size(0),
                              .depth = left.size(1),
                              .left = left.raw_data(),
                              .is_unsigned = left.dtype() == Dtype::uint8,
                              .left_stride = left.size(1),
                              .right = reinterpret_cast<const int8_t*>(right.raw_data()),
                              .right_stride = right.size(1),
                              .out = sums.data<int32_t>(),
                              .out_stride = right.size(0)});
  finish_dense(out, sums);
}

// `scales` holds one scale per row of mat2, which is stored as [N, K].
Result<Meta> int8pack_meta(const Tensor& self, const Tensor& mat2, const Tensor& scales) {
  PT2_TRY_VOID(check_floating(self, "self"));
  PT2_TRY_VOID(check_dtype(mat2, Dtype::int8, "mat2"));
  PT2_TRY_VOID(check_rank(self, 2, "self"));
  PT2_TRY_VOID(check_rank(mat2, 2, "mat2"));
  PT2_TRY_VOID(check_sizes(mat2, {mat2.size(0), self.size(1)}, "mat2"));
  PT2_TRY_VOID(check_sizes(scales, {mat2.size(0)}, "scales"));
  return Meta(self.dtype(), {self.size(0), mat2.size(0)});
}

void int8pack_mm(Tensor& out, const Tensor& self, const Tensor& mat2, const Tensor& scales) {
  const int64_t depth = self.size(1), columns = mat2.size(0);
  with_float_compute_type(out.dtype(), [&]<class C>() {
    const auto left = row_operand<C>(self, 0), right = row_operand<C>(mat2, 0);
    const Input<C> scale(scales);
    Output<C> y(out);
    gemm<C>(self.size(0), columns, depth, left, right, y.data(), columns, 1);
    for (int64_t i = 0; i < out.numel(); ++i) y[i] *= scale[i % columns];
  });
}

constexpr int64_t kInt4Pack = 16;

// mat2 packs two 4-bit numbers per byte. Within blocks of 64, 32 or 16 rows, the elements are in
// PyTorch's own order (ATen/native/cpu/int4mm_kernel.cpp weight_to_int4pack_kernel).
Result<Meta> int4pack_meta(const Tensor& self, const Tensor& mat2, int64_t group_size,
                           const Tensor& scale_and_zeros) {
  PT2_TRY_VOID(check_floating(self, "self"));
  PT2_TRY_VOID(check_dtype(mat2, Dtype::uint8, "mat2"));
  PT2_TRY_VOID(check_rank(self, 2, "self"));
  PT2_TRY_VOID(check_rank(mat2, 2, "mat2"));
  const int64_t depth = self.size(1);
  const int64_t columns = mat2.size(0);
  if (group_size < 1 || depth % group_size != 0)
    return operator_error("qGroupSize: found " + std::to_string(group_size) +
                          ", expected a divisor of " + std::to_string(depth));
  PT2_TRY_VOID(check_sizes(mat2, {columns, depth / 2}, "mat2"));
  PT2_TRY_VOID(check_sizes(scale_and_zeros, {depth / group_size, columns, 2}, "qScaleAndZeros"));
  if (columns % kInt4Pack != 0 || depth % 2 != 0)
    return operator_error("mat2: found " + mat2.type_text() + ", expected a multiple of 16 rows");
  return Meta(self.dtype(), {self.size(0), columns});
}

// The location of a row's numbers: byte `begin` + k * `step` holds number k.
struct Int4Row {
  int64_t begin, step;
  bool is_high;  // the numbers are in the high halves of the bytes
};

// Each block of rows stores its bytes depth by depth. PyTorch's order of rows depends on the
// processor, which no file records. A full block of 64 rows has the order of AVX-512: byte j holds
// rows j and j + 32. A following block of 32 rows has the order of AVX2: byte j holds rows j and j
// + 16. In a last block of 16 rows, neighbouring rows share a byte on every processor.
Int4Row int4_row(int64_t rows, int64_t depth, int64_t row) {
  int64_t width = 64;
  while (rows - row / width * width < width) width /= 2;
  const int64_t block = row / width * width;
  const int64_t half = width / 2;
  const int64_t inside = row - block;
  const int64_t begin = block * depth / 2;
  if (width == kInt4Pack) return {begin + inside / 2, half, inside % 2 != 0};
  return {begin + inside % half, half, inside >= half};
}

int64_t int4_value(const uint8_t* packed, const Int4Row& row, int64_t k) {
  const uint8_t byte = packed[row.begin + k * row.step];
  return row.is_high ? byte >> 4 : byte & 0xf;
}

Result<Meta> convert_int4pack_meta(const Tensor& self, int64_t) {
  PT2_TRY_VOID(check_rank(self, 2, "self"));
  PT2_TRY_VOID(check_dtype(self, Dtype::int32, "self"));
  if (self.size(0) % kInt4Pack != 0 || self.size(1) % 2 != 0)
    return operator_error("self: found " + self.type_text() +
                          ", expected a multiple of 16 rows and of 2 columns");
  return Meta(Dtype::uint8, {self.size(0), self.size(1) / 2});
}

// The number in the low half of a byte is not masked to 4 bits, as in PyTorch: its higher bits
// change the high half.
void convert_int4pack(Tensor& out, const Tensor& self, int64_t) {
  const int64_t rows = self.size(0), depth = self.size(1);
  const Input<int64_t> values(self);
  Tensor packed = dense_result(out, Dtype::uint8);
  auto* bytes = packed.data<uint8_t>();
  std::fill_n(bytes, packed.numel(), uint8_t{0});
  for (int64_t row = 0; row < rows; ++row) {
    const Int4Row place = int4_row(rows, depth, row);
    for (int64_t k = 0; k < depth; ++k) {
      const auto value = static_cast<uint32_t>(values[row * depth + k]);
      bytes[place.begin + k * place.step] |=
          static_cast<uint8_t>(place.is_high ? value << 4 : value);
    }
  }
  finish_dense(out, packed);
}

void int4pack_mm(Tensor& out, const Tensor& self, const Tensor& mat2, int64_t group_size,
                 const Tensor& scale_and_zeros) {
  const int64_t depth = self.size(1);
  const int64_t columns = mat2.size(0);
  const Input<double> x(self);
  const Input<double> parameters(scale_and_zeros);
  MemoryAccount::count_loops({out.numel(), depth}, 1);
  const Tensor packed = mat2.contiguous();
  const auto* bytes = packed.data<uint8_t>();
  Output<double> y(out);
  for (int64_t column = 0; column < columns; ++column) {
    const Int4Row place = int4_row(columns, depth, column);
    for (int64_t row = 0; row < self.size(0); ++row) {
      double sum = 0;
      for (int64_t k = 0; k < depth; ++k) {
        const double* parameter = parameters.data() + (k / group_size * columns + column) * 2;
        const auto value = static_cast<double>(int4_value(bytes, place, k) - 8);
        sum += x[row * depth + k] * (value * parameter[0] + parameter[1]);
      }
      y[row * columns + column] = sum;
    }
  }
}

// w = v * g / |v|. The norm is over all dims except `dim`, which is the first or the last.
Result<std::array<Meta, 2>> weight_norm_meta(const Tensor& v, const Tensor& g, int64_t dim) {
  PT2_TRY_VOID(check_floating(v, "v"));
  PT2_TRY_VOID(check_same_dtype(g, v, "g"));
  PT2_TRY_VOID(check_rank_at_least(v, 1, "v"));
  if (dim != 0 && dim != v.dim() - 1)
    return operator_error("dim: found " + std::to_string(dim) + ", expected the first or the last");
  Sizes sizes(v.sizes().size(), 1);
  sizes[static_cast<size_t>(dim)] = v.size(dim);
  PT2_TRY_VOID(check_sizes(g, sizes, "g"));
  const Dtype norm_dtype = dtype_size(v.dtype()) == 2 ? Dtype::float32 : v.dtype();
  return std::array{Meta(v.dtype(), v.sizes()), Meta(norm_dtype, sizes)};
}
void weight_norm_interface(Tensor& out, Tensor& norms, const Tensor& v, const Tensor& g,
                           int64_t dim) {
  const Input<double> x(v);
  const Input<double> scale(g);
  Output<double> w(out);
  Output<double> norm(norms);
  const int64_t count = v.size(dim);
  const int64_t stride = dim == 0 ? row_count(v.numel(), count) : 1;
  for (int64_t i = 0; i < x.size(); ++i) norm[i / stride % count] += x[i] * x[i];
  for (int64_t i = 0; i < count; ++i) norm[i] = std::sqrt(norm[i]);
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t at = i / stride % count;
    w[i] = x[i] * scale[at] / norm[at];
  }
}

// clang-format off
constexpr OpDef kPackedProductsOps[] = {
    op<"aten::_int_mm(Tensor self, Tensor mat2) -> Tensor", int_mm_meta, int_mm>,
    op<"aten::_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor", int8pack_meta, int8pack_mm>,
    op<"aten::_weight_int4pack_mm_for_cpu(Tensor self, Tensor mat2, int qGroupSize, Tensor qScaleAndZeros) -> Tensor",
       int4pack_meta, int4pack_mm>,
    op<"aten::_convert_weight_to_int4pack_for_cpu(Tensor self, int innerKTiles) -> Tensor", convert_int4pack_meta, convert_int4pack>,
    op<"aten::_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)", weight_norm_meta, weight_norm_interface>,
};
// clang-format on

}  // namespace

std::span<const OpDef> packed_products_ops() { return kPackedProductsOps; }

}  // namespace pt2::ops
