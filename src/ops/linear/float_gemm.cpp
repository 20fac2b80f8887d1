// Products of floats, computed by the packed products of src/kernels.
#include <algorithm>

#include "base/memory_account.h"
#include "kernels/products/product.h"
#include "kernels/products/row_products.h"
#include "ops/linear/gemm.h"

namespace pt2::ops {
namespace {

using FloatOperand = GemmOperand<float>;

// The depth that one call of GemmOperand::load fills.
constexpr int64_t kLoadDepth = 128;
// The number of floats of the right operand that are packed at a time.
constexpr int64_t kPackedFloats = 1 << 20;
// Up to this number of rows, packing the right operand takes longer than the product.
constexpr int64_t kFewRows = 4;

// Implements kernels::LeftRows::Fill for an operand whose rows are not contiguous.
void fill_rows(const void* source, int64_t first_row, int64_t rows, int64_t first_depth,
               int64_t depth, float* tile) {
  constexpr int64_t kRowsAtOnce = 16;
  const auto& operand = *static_cast<const FloatOperand*>(source);
  if (operand.load_rows(first_row, rows, first_depth, depth, kernels::kTilePitch, tile)) return;
  float panel[kRowsAtOnce * kLoadDepth];
  for (int64_t row = 0; row < rows; row += kRowsAtOnce) {
    const int64_t height = std::min(kRowsAtOnce, rows - row);
    for (int64_t k = 0; k < depth; k += kLoadDepth) {
      const int64_t count = std::min(kLoadDepth, depth - k);
      operand.load(first_row + row, height, first_depth + k, count, height, panel);
      for (int64_t i = 0; i < height; ++i)
        for (int64_t j = 0; j < count; ++j)
          tile[(row + i) * kernels::kTilePitch + k + j] = panel[j * height + i];
    }
  }
}

// The floats of an operand in place. Nothing (nullopt) if the operand has elements of another
// dtype, or is not aligned for floats, as a file may have it.
struct LyingFloats {
  const float* data = nullptr;
  int64_t line_stride = 0;
  int64_t depth_stride = 0;
};
std::optional<LyingFloats> lying_floats(const FloatOperand& operand) {
  const auto memory = operand.in_place();
  if (!memory || memory->dtype != Dtype::float32 || !is_place_of<float>(memory->data))
    return std::nullopt;
  return LyingFloats{reinterpret_cast<const float*>(memory->data), memory->line_stride,
                     memory->depth_stride};
}

// Packs `columns` lines of the right operand, starting at `first`.
void pack(const FloatOperand& right, int64_t first, int64_t columns, int64_t depth, float* packed) {
  if (const auto lying = lying_floats(right)) {
    kernels::pack_right(lying->data + first * lying->line_stride,
                        {.depth = depth,
                         .columns = columns,
                         .depth_stride = lying->depth_stride,
                         .column_stride = lying->line_stride},
                        packed);
    return;
  }
  Scratch<float> panel(static_cast<size_t>(columns * std::min(depth, kLoadDepth)));
  for (int64_t k = 0; k < depth; k += kLoadDepth) {
    const int64_t count = std::min(kLoadDepth, depth - k);
    const bool in_rows = right.load_rows(first, columns, k, count, count, panel.data());
    if (!in_rows) right.load(first, columns, k, count, columns, panel.data());
    kernels::pack_right(panel.data(),
                        {.depth = depth,
                         .columns = columns,
                         .depth_stride = in_rows ? 1 : columns,
                         .column_stride = in_rows ? count : 1,
                         .first_depth = k,
                         .count = count},
                        packed);
  }
}

// Multiplies into `out`, whose rows must be contiguous.
void multiply(int64_t rows, int64_t columns, int64_t depth, const FloatOperand& left,
              const FloatOperand& right, float* out, int64_t row_stride) {
  const auto left_rows = lying_floats(left), right_lines = lying_floats(right);
  const bool lies_in_rows = left_rows && left_rows->depth_stride == 1;
  if (rows <= kFewRows && lies_in_rows && right_lines &&
      (right_lines->depth_stride == 1 || right_lines->line_stride == 1)) {
    const bool turned = right_lines->depth_stride == 1;
    return kernels::multiply_rows(
        {.rows = rows,
         .columns = columns,
         .depth = depth,
         .left = left_rows->data,
         .left_stride = left_rows->line_stride,
         .right = right_lines->data,
         .right_stride = turned ? right_lines->line_stride : right_lines->depth_stride,
         .turned = turned,
         .out = out,
         .out_stride = row_stride});
  }
  if (rows == 1 && multiply_vector(right, left, columns, depth, out, 1)) return;
  constexpr int64_t kPanel = 64;
  const int64_t most =
      std::max(kPackedFloats / std::max<int64_t>(depth, 1) / kPanel * kPanel, kPanel);
  AlignedFloats packed(kernels::packed_size(depth, std::min(most, columns)));
  for (int64_t column = 0; column < columns; column += most) {
    const int64_t count = std::min(most, columns - column);
    pack(right, column, count, depth, packed.data());
    kernels::Product product{.rows = rows,
                             .columns = count,
                             .depth = depth,
                             .packed = packed.data(),
                             .out = out + column,
                             .out_stride = row_stride};
    if (lies_in_rows) {
      product.left = left_rows->data;
      product.left_stride = left_rows->line_stride;
    } else {
      product.left_rows = {.fill = fill_rows, .source = &left, .nonzero = nullptr};
    }
    kernels::multiply_packed(product);
  }
}

}  // namespace

template <>
void gemm<float>(int64_t rows, int64_t columns, int64_t depth, const FloatOperand& left,
                 const FloatOperand& right, float* out, int64_t row_stride, int64_t column_stride) {
  if (rows == 0 || columns == 0) return;
  MemoryAccount::count_products({rows, columns, depth});
  // A column of the result is a row of the product of the exchanged operands.
  if (columns == 1 && row_stride == 1) return multiply(1, rows, depth, right, left, out, rows);
  if (column_stride == 1) return multiply(rows, columns, depth, left, right, out, row_stride);
  if (row_stride == 1) return multiply(columns, rows, depth, right, left, out, column_stride);
  Scratch<float> dense(static_cast<size_t>(rows * columns));
  multiply(rows, columns, depth, left, right, dense.data(), columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      out[i * row_stride + j * column_stride] = dense[static_cast<size_t>(i * columns + j)];
}

}  // namespace pt2::ops
