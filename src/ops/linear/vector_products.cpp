// Products of a matrix with one vector, for dot, mv and similar operators.
#include <algorithm>
#include <type_traits>

#include "ops/linear/gemm.h"

namespace pt2::ops {
namespace {

// The number of elements that are read at a time and added to one partial sum.
constexpr int64_t kRun = 1024;
// The number of lines whose sums are kept at a time.
constexpr int64_t kLines = 512;

// True if elements of the dtype can be read as Part. For integers Part is unsigned: they wrap, and
// C++ defines wrap-around for unsigned types only.
template <class Part>
bool are_parts(Dtype dtype) {
  const DtypeCategory category =
      std::is_floating_point_v<Part> ? DtypeCategory::floating : DtypeCategory::integer;
  return dtype_category(dtype) == category && dtype_size(dtype) == sizeof(Part);
}

// `count` elements, at most kRun: in place if possible, else loaded into `buffer`.
template <class C, class Part>
const Part* read_parts(const std::byte* source, int64_t stride, Dtype dtype, int64_t count,
                       Part* buffer) {
  if (stride == 1 && are_parts<Part>(dtype) && is_place_of<Part>(source))
    return reinterpret_cast<const Part*>(source);
  if constexpr (sizeof(C) == sizeof(Part)) {
    load_elements<C>(source, stride, dtype, count, reinterpret_cast<C*>(buffer));
  } else {
    C numbers[kRun];
    load_elements<C>(source, stride, dtype, count, numbers);
    for (int64_t i = 0; i < count; ++i) buffer[i] = static_cast<Part>(numbers[i]);
  }
  return buffer;
}

// Reads parts of an operand that may have no memory.
template <class C, class Part>
class VectorParts {
 public:
  explicit VectorParts(const GemmOperand<C>& vector)
      : vector_(vector), memory_(vector.in_place()) {}
  const Part* read(int64_t begin, int64_t count) {
    if (memory_)
      return read_parts<C>(memory_->at(0, begin), memory_->depth_stride, memory_->dtype, count,
                           buffer_);
    C numbers[kRun];
    vector_.load(0, 1, begin, count, 1, numbers);
    for (int64_t i = 0; i < count; ++i) buffer_[i] = static_cast<Part>(numbers[i]);
    return buffer_;
  }

 private:
  const GemmOperand<C>& vector_;
  std::optional<OperandMemory> memory_;
  Part buffer_[kRun];
};

// Keeps enough independent sums to hide the latency of additions.
template <class Part>
Part sum_of_products(const Part* a, const Part* b, int64_t count) {
  constexpr int64_t kLanes = 64 / sizeof(Part);
  Part lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += a[i + lane] * b[i + lane];
  for (int64_t lane = 0; i + lane < count; ++lane) lanes[lane] += a[i + lane] * b[i + lane];
  for (int64_t half = kLanes / 2; half > 0; half /= 2)
    for (int64_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  return lanes[0];
}

// For lines with contiguous elements: sums one line after the other.
template <class C, class Part>
void sum_along_lines(const OperandMemory& matrix, VectorParts<C, Part>& vector, int64_t first,
                     int64_t lines, int64_t depth, Part* sums) {
  Part buffer[kRun];
  for (int64_t begin = 0; begin < depth; begin += kRun) {
    const int64_t count = std::min(kRun, depth - begin);
    const Part* factors = vector.read(begin, count);
    for (int64_t i = 0; i < lines; ++i)
      sums[i] += sum_of_products(read_parts<C>(matrix.at(first + i, begin), matrix.depth_stride,
                                               matrix.dtype, count, buffer),
                                 factors, count);
  }
}

// For contiguous lines: sums all of them together. Adds several elements of each line at a time, so
// that the sums are read and written less often.
template <class C, class Part>
void sum_across_lines(const OperandMemory& matrix, VectorParts<C, Part>& vector, int64_t first,
                      int64_t lines, int64_t depth, Part* sums) {
  constexpr int64_t kAtOnce = 4, kBlock = 128;
  Part buffers[kAtOnce][kLines], block[kLines];
  const auto row = [&](int64_t k, int64_t at) {
    return read_parts<C>(matrix.at(first, k), matrix.line_stride, matrix.dtype, lines, buffers[at]);
  };
  for (int64_t begin = 0; begin < depth; begin += kBlock) {
    const int64_t count = std::min(kBlock, depth - begin);
    const Part* factors = vector.read(begin, count);
    std::fill_n(block, lines, Part{});
    int64_t k = 0;
    for (; k + kAtOnce <= count; k += kAtOnce) {
      const Part *a = row(begin + k, 0), *b = row(begin + k + 1, 1), *c = row(begin + k + 2, 2),
                 *d = row(begin + k + 3, 3);
      const Part p = factors[k], q = factors[k + 1], r = factors[k + 2], s = factors[k + 3];
      for (int64_t i = 0; i < lines; ++i) block[i] += (p * a[i] + q * b[i]) + (r * c[i] + s * d[i]);
    }
    for (; k < count; ++k) {
      const Part* a = row(begin + k, 0);
      for (int64_t i = 0; i < lines; ++i) block[i] += factors[k] * a[i];
    }
    for (int64_t i = 0; i < lines; ++i) sums[i] += block[i];
  }
}

template <class Part, class C>
void multiply_parts(const OperandMemory& matrix, const GemmOperand<C>& operand, int64_t lines,
                    int64_t depth, C* out, int64_t stride) {
  VectorParts<C, Part> vector(operand);
  Part sums[kLines];
  const bool along = lines == 1 || matrix.depth_stride <= matrix.line_stride;
  for (int64_t first = 0; first < lines; first += kLines) {
    const int64_t count = std::min(kLines, lines - first);
    std::fill_n(sums, count, Part{});
    if (along)
      sum_along_lines(matrix, vector, first, count, depth, sums);
    else
      sum_across_lines(matrix, vector, first, count, depth, sums);
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_integral_v<Part>)
        out[(first + i) * stride] = static_cast<std::make_signed_t<Part>>(sums[i]);
      else
        out[(first + i) * stride] = sums[i];
    }
  }
}

}  // namespace

template <class C>
bool multiply_vector(const GemmOperand<C>& matrix, const GemmOperand<C>& vector, int64_t lines,
                     int64_t depth, C* out, int64_t stride) {
  const auto memory = matrix.in_place();
  if (!memory) return false;
  if constexpr (std::is_same_v<C, int64_t>) {
    if (is_short_integer(memory->dtype))
      multiply_parts<uint32_t>(*memory, vector, lines, depth, out, stride);
    else
      multiply_parts<uint64_t>(*memory, vector, lines, depth, out, stride);
  } else {
    multiply_parts<C>(*memory, vector, lines, depth, out, stride);
  }
  return true;
}

#define PT2_INSTANTIATE(C)                                                                         \
  template bool multiply_vector<C>(const GemmOperand<C>&, const GemmOperand<C>&, int64_t, int64_t, \
                                   C*, int64_t);
PT2_INSTANTIATE(float)
PT2_INSTANTIATE(double)
PT2_INSTANTIATE(int64_t)
#undef PT2_INSTANTIATE

}  // namespace pt2::ops
