#include "ops/linear/gemm.h"

#include <algorithm>
#include <type_traits>

#include "kernels/dtypes/double_tile.h"

namespace pt2::ops {
namespace {

constexpr int64_t kDepth = 128;
// Columns of the right operand that stay packed while all rows of the left operand pass by.
constexpr int64_t kColumnBlock = 1024;

// How a product of C is computed: one tile of kRows x kColumns at a time, from panels of Part.
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

// Integers wrap, as in PyTorch; C++ defines that for unsigned types only.
template <>
struct Tiling<int64_t> {
  using Part = int64_t;
  static constexpr int64_t kRows = 4;
  static constexpr int64_t kColumns = 8;
  static constexpr int64_t kParts = 1;
  static void multiply(int64_t depth, const int64_t* left, const int64_t* right, int64_t* tile) {
    uint64_t sum[kRows * kColumns] = {};
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t i = 0; i < kRows; ++i)
        for (int64_t j = 0; j < kColumns; ++j)
          sum[i * kColumns + j] += static_cast<uint64_t>(left[k * kRows + i]) *
                                   static_cast<uint64_t>(right[k * kColumns + j]);
    for (int64_t i = 0; i < kRows * kColumns; ++i) tile[i] = static_cast<int64_t>(sum[i]);
  }
};

// Complex panels are the real parts, then the imaginary ones: a tile is four of doubles.
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

// Loads a panel as the tiles of C read it.
template <class C>
void load_panel(const GemmOperand<C>& operand, int64_t first_line, int64_t lines, int64_t first_k,
                int64_t depth, int64_t width, typename Tiling<C>::Part* panel) {
  if constexpr (std::is_same_v<C, Complex>) {
    Complex numbers[kDepth * kernels::kDoubleTileColumns];
    operand.load(first_line, lines, first_k, depth, width, numbers);
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t line = 0; line < lines; ++line) {
        panel[k * width + line] = numbers[k * width + line].real();
        panel[(depth + k) * width + line] = numbers[k * width + line].imag();
      }
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
bool MatrixOperand<C>::load_rows(int64_t first_line, int64_t lines, int64_t first_k, int64_t depth,
                                 int64_t pitch, C* rows) const {
  if (depth_stride_ != 1) return false;
  const int64_t element = dtype_size(dtype_);
  const std::byte* base = data_ + (first_line * line_stride_ + first_k) * element;
  for (int64_t line = 0; line < lines; ++line)
    load_elements<C>(base + line * line_stride_ * element, 1, dtype_, depth, rows + line * pitch);
  return true;
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

// Sums of products of a matrix's lines with one vector: lines that lie side by side are summed
// eight numbers at a time, others some lines at a time. Blocks as deep as tiles', added in order.
template <class C>
class VectorProduct {
 public:
  VectorProduct(const GemmOperand<C>& matrix, const GemmOperand<C>& vector, int64_t depth)
      : matrix_(matrix), depth_(depth), vector_(static_cast<size_t>(depth)) {
    for (int64_t k = 0; k < depth; k += kDepth)
      vector.load(0, 1, k, std::min(kDepth, depth - k), 1, vector_.data() + k);
  }

  // False where lines have to be gathered one number at a time.
  bool sum_lines(int64_t lines, C* out, int64_t stride) const {
    Scratch<C> line(static_cast<size_t>(depth_));
    for (int64_t i = 0; i < lines; ++i) {
      if (!matrix_.load_rows(i, 1, 0, depth_, depth_, line.data())) return false;
      out[i * stride] = static_cast<C>(sum_of_line(line.data()));
    }
    return true;
  }

  void sum_columns(int64_t lines, C* out, int64_t stride) const {
    constexpr int64_t kWidth = 256;
    Part sums[kWidth], total[kWidth];
    C numbers[kWidth];
    for (int64_t first = 0; first < lines; first += kWidth) {
      const int64_t width = std::min(kWidth, lines - first);
      std::fill_n(total, width, Part{});
      for (int64_t begin = 0; begin < depth_; begin += kDepth) {
        std::fill_n(sums, width, Part{});
        for (int64_t k = begin; k < std::min(depth_, begin + kDepth); ++k) {
          matrix_.load(first, width, k, 1, width, numbers);
          const Part factor = static_cast<Part>(vector_[static_cast<size_t>(k)]);
          for (int64_t i = 0; i < width; ++i) sums[i] += static_cast<Part>(numbers[i]) * factor;
        }
        for (int64_t i = 0; i < width; ++i) total[i] += sums[i];
      }
      for (int64_t i = 0; i < width; ++i) out[(first + i) * stride] = static_cast<C>(total[i]);
    }
  }

 private:
  // Unsigned integers wrap.
  using Part = std::conditional_t<std::is_same_v<C, int64_t>, uint64_t, C>;

  Part sum_of_line(const C* line) const {
    constexpr int64_t kLanes = 8;
    Part total{};
    for (int64_t begin = 0; begin < depth_; begin += kDepth * kLanes) {
      const int64_t end = std::min(depth_, begin + kDepth * kLanes);
      Part lanes[kLanes] = {};
      int64_t k = begin;
      for (; k + kLanes <= end; k += kLanes)
        for (int64_t lane = 0; lane < kLanes; ++lane)
          lanes[lane] += static_cast<Part>(line[k + lane]) *
                         static_cast<Part>(vector_[static_cast<size_t>(k + lane)]);
      for (; k < end; ++k)
        lanes[0] += static_cast<Part>(line[k]) * static_cast<Part>(vector_[static_cast<size_t>(k)]);
      total += ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
               ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
    }
    return total;
  }

  const GemmOperand<C>& matrix_;
  int64_t depth_;
  Scratch<C> vector_;
};

// Where one of the operands is a vector, and numbers are no pairs.
template <class C>
bool multiply_vector(int64_t rows, int64_t columns, int64_t depth, const GemmOperand<C>& left,
                     const GemmOperand<C>& right, C* out, int64_t row_stride,
                     int64_t column_stride) {
  if constexpr (std::is_same_v<C, Complex>) {
    return false;
  } else {
    if (rows != 1 && columns != 1) return false;
    const bool is_row = rows == 1;
    if (!(is_row ? right : left).is_matrix()) return false;
    const VectorProduct<C> product(is_row ? right : left, is_row ? left : right, depth);
    const int64_t lines = is_row ? columns : rows, stride = is_row ? column_stride : row_stride;
    if (!product.sum_lines(lines, out, stride)) product.sum_columns(lines, out, stride);
    return true;
  }
}

template <class C>
void gemm(int64_t rows, int64_t columns, int64_t depth, const GemmOperand<C>& left,
          const GemmOperand<C>& right, C* out, int64_t row_stride, int64_t column_stride) {
  MemoryAccount::count_loops({rows, columns, depth}, MemoryAccount::kScalarSteps);
  using Tiles = Tiling<C>;
  constexpr int64_t kRows = Tiles::kRows, kColumns = Tiles::kColumns;
  const Target<C> target{out, row_stride, column_stride};
  C tile[kRows * kColumns] = {};
  if (depth == 0) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) target.store(i, 1, j, 1, tile, true);
    return;
  }
  if (multiply_vector(rows, columns, depth, left, right, out, row_stride, column_stride)) return;
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
