// Reductions that read dense tensors directly, without a copy in which rows are contiguous.
// Elements are folded one after another along rows, row by row along columns.
#ifndef PT2_OPS_REDUCTION_DENSE_REDUCE_H
#define PT2_OPS_REDUCTION_DENSE_REDUCE_H

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "base/memory_account.h"
#include "ops/convert.h"
#include "pt2/tensor.h"

namespace pt2::ops {

// `before` blocks of `reduced` rows of `after` elements each. The rows of a block are reduced to
// one.
struct ReducedBlocks {
  int64_t before = 1;
  int64_t reduced = 1;
  int64_t after = 1;
};
// Returns the steps that reduce a tensor over `dims` (wrapped), in order. Nothing if the tensor has
// gaps, or if the kept dimensions are not in memory order.
std::optional<std::vector<ReducedBlocks>> reduced_blocks(const Tensor& self, const Sizes& dims);

// A bool element. Every nonzero byte is true.
struct BoolElement {
  uint8_t byte;
  operator int64_t() const { return byte != 0; }
};

// A float16 or bfloat16 element; the dtype is known elsewhere.
struct HalfElement {
  uint16_t bits;
};

constexpr int64_t kFoldBlock = 2048;

// Reads at most kFoldBlock elements as numbers: directly from memory, or half floats as a copy in
// float32.
template <class T>
struct FoldedNumbers {
  explicit FoldedNumbers(Dtype) {}
  const T* read(const T* from, int64_t) { return from; }
};
template <>
struct FoldedNumbers<HalfElement> {
  explicit FoldedNumbers(Dtype stored) : dtype(stored) {}
  const float* read(const HalfElement* from, int64_t count) {
    load_elements<float>(reinterpret_cast<const std::byte*>(from), 1, dtype, count, buffer);
    return buffer;
  }
  Dtype dtype;
  float buffer[kFoldBlock];
};

// The operations of the reductions. Integers wrap around. kWidens: float32 is folded in double.
// kLanes: the number of partial results of a row.
template <class A>
struct FoldSum {
  using Sum = A;
  static constexpr int64_t kLanes = 16;
  static constexpr bool kWidens = true;
  static constexpr A kNone{};
  template <class T>
  static A of(T x) {
    return static_cast<A>(x);
  }
  static A join(A a, A b) { return a + b; }
};
// Ignores NaN.
template <class A>
struct FoldNumberSum : FoldSum<A> {
  static constexpr bool kWidens = false;
  template <class T>
  static A of(T x) {
    return x == x ? static_cast<A>(x) : A{};
  }
};
template <class A>
struct FoldProduct {
  using Sum = A;
  static constexpr int64_t kLanes = 16;
  static constexpr bool kWidens = false;
  static constexpr A kNone{1};
  template <class T>
  static A of(T x) {
    return static_cast<A>(x);
  }
  static A join(A a, A b) { return a * b; }
};
// NaN is more extreme than any number.
template <bool Largest, class T>
struct FoldExtreme {
  using Sum = T;
  using Limits = std::numeric_limits<T>;
  // GCC fully unrolls a loop over 16 selections and then does not vectorize it. int64_t has no
  // vector selection in SSE2.
  static constexpr int64_t kLanes = Limits::is_integer && sizeof(T) == 8 ? 16 : 32;
  static constexpr T kEnd = Limits::has_infinity ? Limits::infinity() : Limits::max();
  static constexpr T kStart = Limits::has_infinity ? -Limits::infinity() : Limits::min();
  static constexpr T kNone = Largest ? kStart : kEnd;
  static T of(T x) { return x; }
  static T join(T a, T b) {
    const T better = (Largest ? b > a : b < a) ? b : a;
    return b != b ? b : better;
  }
};
struct FoldCount {
  using Sum = int64_t;
  static constexpr int64_t kLanes = 16;
  static constexpr int64_t kNone = 0;
  template <class T>
  static int64_t of(T x) {
    return static_cast<int64_t>(x != T{});
  }
  static int64_t of(BoolElement x) { return x; }
  static int64_t join(int64_t a, int64_t b) { return a + b; }
};

// Keeps kLanes partial results over short blocks, which preserves accuracy. kLanes is large enough
// to keep GCC from fully unrolling the innermost loop, which it would then not vectorize.
template <class Fold, class T, class Map>
typename Fold::Sum fold_row(const T* values, int64_t count, const Map& map, Dtype dtype) {
  using Sum = typename Fold::Sum;
  constexpr int64_t kLanes = Fold::kLanes;
  FoldedNumbers<T> numbers(dtype);
  Sum total = Fold::kNone;
  for (int64_t begin = 0; begin < count; begin += kFoldBlock) {
    const int64_t size = std::min(count - begin, kFoldBlock);
    const auto* from = numbers.read(values + begin, size);
    Sum lanes[kLanes];
    std::fill_n(lanes, kLanes, Fold::kNone);
    int64_t i = 0;
    for (; i + kLanes <= size; i += kLanes)
      for (int64_t lane = 0; lane < kLanes; ++lane)
        lanes[lane] = Fold::join(lanes[lane], map(from[i + lane]));
    for (int64_t lane = 0; i + lane < size; ++lane)
      lanes[lane] = Fold::join(lanes[lane], map(from[i + lane]));
    for (int64_t half = kLanes / 2; half > 0; half /= 2)
      for (int64_t lane = 0; lane < half; ++lane)
        lanes[lane] = Fold::join(lanes[lane], lanes[lane + half]);
    total = Fold::join(total, lanes[0]);
  }
  return total;
}

// Folds `columns` columns over rows that are `stride` elements apart.
template <class Fold, class T, class Map>
void fold_columns(const T* values, int64_t rows, int64_t stride, int64_t columns,
                  typename Fold::Sum* out, const Map& map, Dtype dtype) {
  using Sum = typename Fold::Sum;
  constexpr int64_t kWidth = 256, kBlock = 128;
  FoldedNumbers<T> numbers(dtype);
  Sum sums[kWidth];
  for (int64_t first = 0; first < columns; first += kWidth) {
    const int64_t width = std::min(kWidth, columns - first);
    std::fill_n(out + first, width, Fold::kNone);
    for (int64_t begin = 0; begin < rows; begin += kBlock) {
      std::fill_n(sums, width, Fold::kNone);
      for (int64_t row = begin; row < std::min(rows, begin + kBlock); ++row) {
        const auto* from = numbers.read(values + row * stride + first, width);
        for (int64_t i = 0; i < width; ++i) sums[i] = Fold::join(sums[i], map(from[i]));
      }
      for (int64_t i = 0; i < width; ++i) out[first + i] = Fold::join(out[first + i], sums[i]);
    }
  }
}

template <class Fold, class T, class Map>
void fold_blocks(const ReducedBlocks& blocks, const T* in, typename Fold::Sum* out, const Map& map,
                 Dtype dtype) {
  for (int64_t i = 0; i < blocks.before; ++i) {
    const T* from = in + i * blocks.reduced * blocks.after;
    if (blocks.after == 1)
      out[i] = fold_row<Fold>(from, blocks.reduced, map, dtype);
    else
      fold_columns<Fold>(from, blocks.reduced, blocks.after, blocks.after, out + i * blocks.after,
                         map, dtype);
  }
}

// Folds the elements T of a tensor into `out`: `finish` converts each result to an element. False
// if `reduced_blocks` finds no steps, or if the memory is not aligned for T.
template <class Fold, class T, class Finish>
bool fold_dense(Tensor& out, const Tensor& self, const Sizes& dims, const Finish& finish) {
  using Sum = typename Fold::Sum;
  if (self.numel() == 0 || out.numel() == 0 || dims.empty() || !out.is_contiguous() ||
      !is_place_of<T>(self.raw_data()))
    return false;
  const auto all = reduced_blocks(self, dims);
  if (!all || all->empty()) return false;
  const auto size_of = [](const ReducedBlocks& blocks) {
    return static_cast<size_t>(blocks.before * blocks.after);
  };
  Scratch<Sum> sums(size_of(all->front())), more;
  fold_blocks<Fold>(
      all->front(), reinterpret_cast<const T*>(self.raw_data()), sums.data(),
      [](auto x) { return Fold::of(x); }, self.dtype());
  for (size_t i = 1; i < all->size(); ++i) {
    more.assign(size_of((*all)[i]), Sum{});
    fold_blocks<Fold>((*all)[i], sums.data(), more.data(), [](Sum x) { return x; }, self.dtype());
    sums.swap(more);
  }
  using C = decltype(finish(Sum{}));
  Scratch<C> results(sums.size());
  for (size_t i = 0; i < sums.size(); ++i) results[i] = finish(sums[i]);
  store_elements<C>(results.data(), static_cast<int64_t>(results.size()), out.dtype(), 1,
                    out.raw_data());
  return true;
}

// Calls function.template operator()<T>() with the element type of a dtype. False if there is none.
template <class F>
bool with_element(Dtype dtype, const F& function) {
  switch (dtype) {
    case Dtype::float64:
      return function.template operator()<double>();
    case Dtype::float32:
      return function.template operator()<float>();
    case Dtype::int64:
      return function.template operator()<int64_t>();
    case Dtype::int32:
      return function.template operator()<int32_t>();
    case Dtype::int16:
      return function.template operator()<int16_t>();
    case Dtype::uint8:
      return function.template operator()<uint8_t>();
    case Dtype::int8:
      return function.template operator()<int8_t>();
    case Dtype::bool_:
      return function.template operator()<BoolElement>();
    case Dtype::float16:
    case Dtype::bfloat16:
      return function.template operator()<HalfElement>();
    default:
      return false;
  }
}

}  // namespace pt2::ops

#endif  // PT2_OPS_REDUCTION_DENSE_REDUCE_H
