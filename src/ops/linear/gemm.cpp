#include "ops/linear/gemm.h"

#include <algorithm>
#include <type_traits>
#include <vector>

namespace pt2::ops {
namespace {

constexpr int64_t kRows = 4;
constexpr int64_t kColumns = 8;
constexpr int64_t kDepth = 128;
// Columns of the right operand that stay packed while all rows of the left operand pass by.
constexpr int64_t kColumnBlock = 1024;

// One tile of kRows x kColumns; the accumulators live in registers.
template <class C>
void multiply_tile(int64_t depth, const C* left, const C* right, C* tile) {
  C sum[kRows][kColumns] = {};
  for (int64_t k = 0; k < depth; ++k) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < kRows; ++i) {
      const C a = left[k * kRows + i];
#pragma GCC unroll 8
      for (int64_t j = 0; j < kColumns; ++j) sum[i][j] += a * right[k * kColumns + j];
    }
  }
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t j = 0; j < kColumns; ++j) tile[i * kColumns + j] = sum[i][j];
}

// Integers wrap, as in PyTorch; C++ defines that for unsigned types only.
template <>
void multiply_tile<int64_t>(int64_t depth, const int64_t* left, const int64_t* right,
                            int64_t* tile) {
  uint64_t sum[kRows * kColumns] = {};
  for (int64_t k = 0; k < depth; ++k)
    for (int64_t i = 0; i < kRows; ++i)
      for (int64_t j = 0; j < kColumns; ++j)
        sum[i * kColumns + j] += static_cast<uint64_t>(left[k * kRows + i]) *
                                 static_cast<uint64_t>(right[k * kColumns + j]);
  for (int64_t i = 0; i < kRows * kColumns; ++i) tile[i] = static_cast<int64_t>(sum[i]);
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

template <class C>
void MatrixOperand<C>::load(int64_t first_line, int64_t lines, int64_t first_k, int64_t depth,
                            int64_t width, C* panel) const {
  const int64_t element = dtype_size(dtype_);
  const std::byte* base = data_ + (first_line * line_stride_ + first_k * depth_stride_) * element;
  if (line_stride_ == 1 || depth_stride_ != 1) {
    for (int64_t k = 0; k < depth; ++k)
      load_elements<C>(base + k * depth_stride_ * element, line_stride_, dtype_, lines,
                       panel + k * width);
    return;
  }
  C buffer[kDepth];
  for (int64_t line = 0; line < lines; ++line) {
    load_elements<C>(base + line * line_stride_ * element, depth_stride_, dtype_, depth, buffer);
    for (int64_t k = 0; k < depth; ++k) panel[k * width + line] = buffer[k];
  }
}

template <class C>
std::optional<typename GemmOperand<C>::InPlace> MatrixOperand<C>::in_place() const {
  // Only float products read in place. A file may place a tensor at an address that is misaligned
  // for float.
  if (!std::is_same_v<C, float> || dtype_ != Dtype::float32 ||
      reinterpret_cast<uintptr_t>(data_) % alignof(C) != 0)
    return std::nullopt;
  return typename GemmOperand<C>::InPlace{reinterpret_cast<const C*>(data_), line_stride_,
                                          depth_stride_};
}

template <class C>
void gemm(int64_t rows, int64_t columns, int64_t depth, const GemmOperand<C>& left,
          const GemmOperand<C>& right, C* out, int64_t row_stride, int64_t column_stride) {
  const Target<C> target{out, row_stride, column_stride};
  C tile[kRows * kColumns] = {};
  if (depth == 0) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) target.store(i, 1, j, 1, tile, true);
    return;
  }
  const int64_t widest = std::min(columns, kColumnBlock) + kColumns;
  std::vector<C> right_panels(static_cast<size_t>(widest * std::min(depth, kDepth)));
  std::vector<C> left_panel(static_cast<size_t>(kRows * kDepth));
  for (int64_t column = 0; column < columns; column += kColumnBlock) {
    const int64_t block = std::min(kColumnBlock, columns - column);
    for (int64_t k = 0; k < depth; k += kDepth) {
      const int64_t count = std::min(kDepth, depth - k);
      for (int64_t j = 0; j < block; j += kColumns)
        right.load(column + j, std::min(kColumns, block - j), k, count, kColumns,
                   right_panels.data() + j * count);
      for (int64_t row = 0; row < rows; row += kRows) {
        const int64_t height = std::min(kRows, rows - row);
        left.load(row, height, k, count, kRows, left_panel.data());
        for (int64_t j = 0; j < block; j += kColumns) {
          multiply_tile<C>(count, left_panel.data(), right_panels.data() + j * count, tile);
          target.store(row, height, column + j, std::min(kColumns, block - j), tile, k == 0);
        }
      }
    }
  }
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
