// Matrix products of any dtype, blocked for the cache. src/kernels computes those of floats.
#ifndef PT2_OPS_LINEAR_GEMM_H
#define PT2_OPS_LINEAR_GEMM_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/memory_account.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "pt2/tensor.h"

namespace pt2::ops {

// An operand in memory, of any strides and any alignment: element k of line i is at(i, k).
struct OperandMemory {
  const std::byte* data = nullptr;
  Dtype dtype = Dtype::float32;
  int64_t line_stride = 0;
  int64_t depth_stride = 0;

  const std::byte* at(int64_t line, int64_t k) const {
    return data + (line * line_stride + k * depth_stride) * dtype_size(dtype);
  }
};

// True if 32 bits suffice for sums of products of such elements: PyTorch keeps no more.
inline bool is_short_integer(Dtype dtype) {
  return dtype_category(dtype) == DtypeCategory::integer && dtype_size(dtype) == 4;
}

// An operand of a product: `lines` (rows of the left matrix, columns of the right one), each as
// long as the product's depth.
template <class C>
class GemmOperand {
 public:
  virtual ~GemmOperand() = default;
  // Sets panel[k * width + line] to element `first_k + k` of line `first_line + line`, for line <
  // lines and k < depth. Leaves entries with line >= lines unchanged.
  virtual void load(int64_t first_line, int64_t lines, int64_t first_k, int64_t depth,
                    int64_t width, C* panel) const = 0;
  // Sets rows[line * pitch + k] to the same elements, for any depth. Returns false, without
  // loading, if this is no faster than loading a panel.
  virtual bool load_rows(int64_t, int64_t, int64_t, int64_t, int64_t, C*) const { return false; }

  // The operand's memory. Nothing (nullopt) if elements are computed on demand.
  virtual std::optional<OperandMemory> in_place() const { return std::nullopt; }
};

// The two dimensions of a view, of any strides and any dtype.
template <class C>
class MatrixOperand : public GemmOperand<C> {
 public:
  MatrixOperand(const std::byte* data, Dtype dtype, int64_t line_stride, int64_t depth_stride)
      : memory_{data, dtype, line_stride, depth_stride} {}
  MatrixOperand(const C* data, int64_t line_stride, int64_t depth_stride)
      : MatrixOperand(reinterpret_cast<const std::byte*>(data), kDtypeOf<C>, line_stride,
                      depth_stride) {}
  void load(int64_t first_line, int64_t lines, int64_t first_k, int64_t depth, int64_t width,
            C* panel) const override;
  bool load_rows(int64_t first_line, int64_t lines, int64_t first_k, int64_t depth, int64_t pitch,
                 C* rows) const override;
  std::optional<OperandMemory> in_place() const override { return memory_; }

 private:
  OperandMemory memory_;
};

// An operand without its first `begin` lines.
template <class C>
class LinesFrom : public GemmOperand<C> {
 public:
  LinesFrom(const GemmOperand<C>& operand, int64_t begin) : operand_(operand), begin_(begin) {}
  void load(int64_t first_line, int64_t lines, int64_t first_k, int64_t depth, int64_t width,
            C* panel) const override {
    operand_.load(begin_ + first_line, lines, first_k, depth, width, panel);
  }
  bool load_rows(int64_t first_line, int64_t lines, int64_t first_k, int64_t depth, int64_t pitch,
                 C* rows) const override {
    return operand_.load_rows(begin_ + first_line, lines, first_k, depth, pitch, rows);
  }
  std::optional<OperandMemory> in_place() const override {
    auto all = operand_.in_place();
    if (all) all->data = all->at(begin_, 0);
    return all;
  }

 private:
  const GemmOperand<C>& operand_;
  int64_t begin_;
};

// The number of matrices in the last two dims of a batch, and the offset of matrix number `index`,
// in elements. Matrices are counted row-major over the dims before.
int64_t batch_count(const Tensor& batch);
int64_t batch_offset(const Tensor& batch, int64_t index);
// That matrix, the lines of which are its rows or its columns.
template <class C>
MatrixOperand<C> row_operand(const Tensor& batch, int64_t index) {
  return {batch.raw_data() + batch_offset(batch, index) * dtype_size(batch.dtype()), batch.dtype(),
          batch.stride(batch.dim() - 2), batch.stride(batch.dim() - 1)};
}
template <class C>
MatrixOperand<C> column_operand(const Tensor& batch, int64_t index) {
  return {batch.raw_data() + batch_offset(batch, index) * dtype_size(batch.dtype()), batch.dtype(),
          batch.stride(batch.dim() - 1), batch.stride(batch.dim() - 2)};
}

// out[i, j] = sum over k of left line i times right line j. Elements of `out` are row_stride and
// column_stride apart. C is float, double, int64_t or Complex. Floats are summed in blocks, and the
// block sums are added in order. int64_t results are correct in as many low bits as the operands'
// elements have.
template <class C>
void gemm(int64_t rows, int64_t columns, int64_t depth, const GemmOperand<C>& left,
          const GemmOperand<C>& right, C* out, int64_t row_stride, int64_t column_stride);

// A product with one vector: out[i * stride] = the sum over k < depth of matrix line i times line 0
// of `vector`, of any dtype and strides. Returns false if the matrix is not in memory. C is float,
// double or int64_t.
template <class C>
bool multiply_vector(const GemmOperand<C>& matrix, const GemmOperand<C>& vector, int64_t lines,
                     int64_t depth, C* out, int64_t stride);

// A buffer of `count` floats, aligned to a cache line: packed operands are read fastest from there.
class AlignedFloats {
 public:
  explicit AlignedFloats(int64_t count) : memory_(static_cast<size_t>(count) + kSlack) {
    void* begin = memory_.data();
    size_t bytes = memory_.size() * sizeof(float);
    data_ = static_cast<float*>(std::align(64, sizeof(float), begin, bytes));
  }
  float* data() { return data_; }

 private:
  static constexpr size_t kSlack = 64 / sizeof(float);
  Scratch<float> memory_;
  float* data_;
};

template <>
void gemm<float>(int64_t rows, int64_t columns, int64_t depth, const GemmOperand<float>& left,
                 const GemmOperand<float>& right, float* out, int64_t row_stride,
                 int64_t column_stride);

}  // namespace pt2::ops

#endif  // PT2_OPS_LINEAR_GEMM_H
