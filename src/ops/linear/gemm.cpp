#include "ops/linear/gemm.h"

#include <algorithm>
#include <type_traits>

#include "kernels/dtypes/double_tile.h"

namespace pt2::ops {
namespace {

constexpr int64_t kDepth = 128;
// The number of columns of the right operand that stay packed while all rows of the left operand
// are processed.
constexpr int64_t kColumnBlock = 1024;

// How to compute a product of type C: in tiles of kRows x kColumns, from packed panels of type
// Part.
template <class C>
struct Tiling {};

template <>
struct Tiling<double> {
  using Part = double;
  static constexpr int64_t kRows = kernels::kDoubleTileRows;
  static constexpr int64_t kColumns = kernels::kDoubleTileColumns;
  static constexpr int64_t kParts = 1;
  static void multiply(int64_t depth, const double* left, const double* right, double* tile) {
    kernels::multiply_double_tile(depth, left, right, tile);
  }
};

// Integers wrap, as in PyTorch. C++ defines wrap-around for unsigned types only.
template <class Unsigned>
struct WholeTiling {
  using Part = Unsigned;
  static constexpr int64_t kRows = kernels::kWholeTileRows;
  static constexpr int64_t kColumns = kernels::kWholeTileColumns;
  static constexpr int64_t kParts = 1;
  static void multiply(int64_t depth, const Unsigned* left, const Unsigned* right, int64_t* tile) {
    Unsigned sums[kRows * kColumns];
    kernels::multiply_whole_tile(depth, left, right, sums);
    for (int64_t i = 0; i < kRows * kColumns; ++i)
      tile[i] = static_cast<std::make_signed_t<Unsigned>>(sums[i]);
  }
};
template <>
struct Tiling<int64_t> : WholeTiling<uint64_t> {};

// Complex panels hold the real parts, then the imaginary parts. A complex tile takes four tiles of
// doubles.
template <>
struct Tiling<Complex> : Tiling<double> {
  static constexpr int64_t kParts = 2;
  static void multiply(int64_t depth, const double* left, const double* right, Complex* tile) {
    constexpr int64_t kSize = kRows * kColumns;
    double products[4][kSize];
    for (size_t i = 0; i < 4; ++i)
      Tiling<double>::multiply(depth, left + (i / 2 == 0 ? 0 : depth * kRows),
                               right + (i % 2 == 0 ? 0 : depth * kColumns), products[i]);
    for (int64_t i = 0; i < kSize; ++i)
      tile[i] = {products[0][i] - products[3][i], products[1][i] + products[2][i]};
  }
};

// Packs a panel in the order in which tiles read it.
template <class C, class Part>
void load_panel(const GemmOperand<C>& operand, int64_t first_line, int64_t lines, int64_t first_k,
                int64_t depth, int64_t width, Part* panel) {
  if constexpr (std::is_same_v<C, Complex>) {
    Complex numbers[kDepth * kernels::kDoubleTileColumns];
    operand.load(first_line, lines, first_k, depth, width, numbers);
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t line = 0; line < lines; ++line) {
        panel[k * width + line] = numbers[k * width + line].real();
        panel[(depth + k) * width + line] = numbers[k * width + line].imag();
      }
  } else if constexpr (std::is_integral_v<C>) {
    C numbers[kDepth * kernels::kWholeTileColumns];
    operand.load(first_line, lines, first_k, depth, width, numbers);
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t line = 0; line < lines; ++line)
        panel[k * width + line] = static_cast<Part>(numbers[k * width + line]);
  } else {
    operand.load(first_line, lines, first_k, depth, width, panel);
  }
}

template <class C>
C add(C a, C b) {
  return a + b;
}
template <>
int64_t add<int64_t>(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

template <class C>
struct Target {
  static constexpr int64_t kColumns = Tiling<C>::kColumns;
  C* data;
  int64_t row_stride;
  int64_t column_stride;

  void store(int64_t row, int64_t rows, int64_t column, int64_t columns, const C* tile,
             bool first) const {
    for (int64_t i = 0; i < rows; ++i) {
      C* target = data + (row + i) * row_stride + column * column_stride;
      for (int64_t j = 0; j < columns; ++j, target += column_stride) {
        const C value = tile[i * kColumns + j];
        *target = first ? value : add(*target, value);
      }
    }
  }
};

}  // namespace

int64_t batch_count(const Tensor& batch) {
  int64_t count = 1;
  for (int64_t dim = 0; dim + 2 < batch.dim(); ++dim) count *= batch.size(dim);
  return count;
}

int64_t batch_offset(const Tensor& batch, int64_t index) {
  int64_t offset = 0;
  for (int64_t dim = batch.dim() - 3; dim >= 0; --dim) {
    offset += index % batch.size(dim) * batch.stride(dim);
    index /= batch.size(dim);
  }
  return offset;
}

template <class C>
void MatrixOperand<C>::load(int64_t first_line, int64_t lines, int64_t first_k, int64_t depth,
                            int64_t width, C* panel) const {
  const auto& [data, dtype, line_stride, depth_stride] = memory_;
  if (line_stride == 1 || depth_stride != 1) {
    for (int64_t k = 0; k < depth; ++k)
      load_elements<C>(memory_.at(first_line, first_k + k), line_stride, dtype, lines,
                       panel + k * width);
    return;
  }
  C buffer[kDepth];
  for (int64_t line = 0; line < lines; ++line) {
    load_elements<C>(memory_.at(first_line + line, first_k), depth_stride, dtype, depth, buffer);
    for (int64_t k = 0; k < depth; ++k) panel[k * width + line] = buffer[k];
  }
}

template <class C>
bool MatrixOperand<C>::load_rows(int64_t first_line, int64_t lines, int64_t first_k, int64_t depth,
                                 int64_t pitch, C* rows) const {
  if (memory_.depth_stride != 1) return false;
  for (int64_t line = 0; line < lines; ++line)
    load_elements<C>(memory_.at(first_line + line, first_k), 1, memory_.dtype, depth,
                     rows + line * pitch);
  return true;
}

// Requires depth > 0.
template <class Tiles, class C>
void multiply_tiles(int64_t rows, int64_t columns, int64_t depth, const GemmOperand<C>& left,
                    const GemmOperand<C>& right, const Target<C>& target) {
  constexpr int64_t kRows = Tiles::kRows, kColumns = Tiles::kColumns;
  C tile[kRows * kColumns] = {};
  const int64_t widest = std::min(columns, kColumnBlock) + kColumns;
  const int64_t deepest = Tiles::kParts * std::min(depth, kDepth);
  Scratch<typename Tiles::Part> right_panels(static_cast<size_t>(widest * deepest));
  Scratch<typename Tiles::Part> left_panel(static_cast<size_t>(kRows * deepest));
  for (int64_t column = 0; column < columns; column += kColumnBlock) {
    const int64_t block = std::min(kColumnBlock, columns - column);
    for (int64_t k = 0; k < depth; k += kDepth) {
      const int64_t count = std::min(kDepth, depth - k);
      const int64_t pitch = Tiles::kParts * count;
      for (int64_t j = 0; j < block; j += kColumns)
        load_panel<C>(right, column + j, std::min(kColumns, block - j), k, count, kColumns,
                      right_panels.data() + j * pitch);
      for (int64_t row = 0; row < rows; row += kRows) {
        const int64_t height = std::min(kRows, rows - row);
        load_panel<C>(left, row, height, k, count, kRows, left_panel.data());
        for (int64_t j = 0; j < block; j += kColumns) {
          Tiles::multiply(count, left_panel.data(), right_panels.data() + j * pitch, tile);
          target.store(row, height, column + j, std::min(kColumns, block - j), tile, k == 0);
        }
      }
    }
  }
}

// True if both operands have 32-bit elements: then only the low 32 bits of each sum are needed.
bool are_short(const GemmOperand<int64_t>& left, const GemmOperand<int64_t>& right) {
  const auto a = left.in_place(), b = right.in_place();
  return a && b && is_short_integer(a->dtype) && is_short_integer(b->dtype);
}

template <class C>
void gemm(int64_t rows, int64_t columns, int64_t depth, const GemmOperand<C>& left,
          const GemmOperand<C>& right, C* out, int64_t row_stride, int64_t column_stride) {
  MemoryAccount::count_loops({rows, columns, depth}, MemoryAccount::kScalarSteps);
  const Target<C> target{out, row_stride, column_stride};
  if (depth == 0) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) out[i * row_stride + j * column_stride] = C{};
    return;
  }
  if constexpr (!std::is_same_v<C, Complex>) {
    if (rows == 1 && multiply_vector(right, left, columns, depth, out, column_stride)) return;
    if (columns == 1 && multiply_vector(left, right, rows, depth, out, row_stride)) return;
  }
  if constexpr (std::is_same_v<C, int64_t>)
    if (are_short(left, right))
      return multiply_tiles<WholeTiling<uint32_t>>(rows, columns, depth, left, right, target);
  multiply_tiles<Tiling<C>>(rows, columns, depth, left, right, target);
}

template class MatrixOperand<float>;
#define PT2_INSTANTIATE(C)                                                                       \
  template class MatrixOperand<C>;                                                               \
  template void gemm<C>(int64_t, int64_t, int64_t, const GemmOperand<C>&, const GemmOperand<C>&, \
                        C*, int64_t, int64_t);
PT2_INSTANTIATE(double)
PT2_INSTANTIATE(int64_t)
PT2_INSTANTIATE(Complex)
#undef PT2_INSTANTIATE

}  // namespace pt2::ops
