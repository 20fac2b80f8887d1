#include "kernels/dtypes/fourier.h"

#include <algorithm>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dtypes/fourier.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
constexpr int64_t kWidth = static_cast<int64_t>(hn::MaxLanes(Tag<T>()));
// Numbers of type T that one complex number of every line takes: the real parts, then the imaginary
// parts.
template <class T>
constexpr int64_t kPitch = 2 * kWidth<T>;

// One complex number of every line.
template <class T>
struct Numbers {
  using V = hn::Vec<Tag<T>>;
  V re, im;

  // Declared here because compiler-generated constructors belong to no target, and the constructor
  // of a NEON vector cannot be inlined into them.
  HWY_INLINE Numbers() {}
  HWY_INLINE Numbers(V real, V imaginary) : re(real), im(imaginary) {}
  static HWY_INLINE Numbers load(const T* from) {
    return {hn::LoadU(Tag<T>(), from), hn::LoadU(Tag<T>(), from + kWidth<T>)};
  }
  HWY_INLINE void store(T* to) const {
    hn::StoreU(re, Tag<T>(), to);
    hn::StoreU(im, Tag<T>(), to + kWidth<T>);
  }
  HWY_INLINE Numbers operator+(const Numbers& other) const {
    return {hn::Add(re, other.re), hn::Add(im, other.im)};
  }
  HWY_INLINE Numbers operator-(const Numbers& other) const {
    return {hn::Sub(re, other.re), hn::Sub(im, other.im)};
  }
  HWY_INLINE Numbers times(V c, V s) const {
    return {hn::NegMulAdd(im, s, hn::Mul(re, c)), hn::MulAdd(re, s, hn::Mul(im, c))};
  }
  // Multiplies by the complex number at `root`.
  HWY_INLINE Numbers times(const T* root) const {
    return times(hn::Set(Tag<T>(), root[0]), hn::Set(Tag<T>(), root[1]));
  }
  HWY_INLINE Numbers scaled(T factor) const {
    const V f = hn::Set(Tag<T>(), factor);
    return {hn::Mul(re, f), hn::Mul(im, f)};
  }
  HWY_INLINE Numbers conjugate() const { return {re, hn::Neg(im)}; }
  // Multiplies by -i.
  HWY_INLINE Numbers turned() const { return {im, hn::Neg(re)}; }
};

// One pass turns n / done transforms of length `done` into n / (done * radix) transforms of length
// done * radix. Number k of transform b is at k * (number of transforms) + b, before and after.
template <class T>
struct Pass {
  T* in;
  T* out;
  int64_t n;
  int64_t done;
  int64_t radix;
  const T* roots;

  HWY_INLINE int64_t blocks() const { return n / (done * radix); }
};

template <class T>
HWY_INLINE void butterfly(const Numbers<T> (&x)[2], Numbers<T> (&y)[2]) {
  y[0] = x[0] + x[1];
  y[1] = x[0] - x[1];
}

template <class T>
HWY_INLINE void butterfly(const Numbers<T> (&x)[3], Numbers<T> (&y)[3]) {
  const T kSine = static_cast<T>(0.86602540378443864676);
  const Numbers<T> sum = x[1] + x[2];
  const Numbers<T> gap = (x[1] - x[2]).scaled(kSine).turned();
  const Numbers<T> rest = x[0] - sum.scaled(static_cast<T>(0.5));
  y[0] = x[0] + sum;
  y[1] = rest + gap;
  y[2] = rest - gap;
}

template <class T>
HWY_INLINE void butterfly(const Numbers<T> (&x)[4], Numbers<T> (&y)[4]) {
  const Numbers<T> even = x[0] + x[2], odd = x[0] - x[2];
  const Numbers<T> sum = x[1] + x[3], gap = (x[1] - x[3]).turned();
  y[0] = even + sum;
  y[1] = odd + gap;
  y[2] = even - sum;
  y[3] = odd - gap;
}

template <class T>
HWY_INLINE void butterfly(const Numbers<T> (&x)[5], Numbers<T> (&y)[5]) {
  const T c1 = static_cast<T>(0.30901699437494742410), c2 = static_cast<T>(-0.80901699437494742410);
  const T s1 = static_cast<T>(0.95105651629515357212), s2 = static_cast<T>(0.58778525229247312917);
  const Numbers<T> sum1 = x[1] + x[4], sum2 = x[2] + x[3];
  const Numbers<T> gap1 = (x[1] - x[4]).turned(), gap2 = (x[2] - x[3]).turned();
  const Numbers<T> even1 = x[0] + (sum1.scaled(c1) + sum2.scaled(c2));
  const Numbers<T> even2 = x[0] + (sum1.scaled(c2) + sum2.scaled(c1));
  const Numbers<T> odd1 = gap1.scaled(s1) + gap2.scaled(s2);
  const Numbers<T> odd2 = gap1.scaled(s2) - gap2.scaled(s1);
  y[0] = x[0] + (sum1 + sum2);
  y[1] = even1 + odd1;
  y[2] = even2 + odd2;
  y[3] = even2 - odd2;
  y[4] = even1 - odd1;
}

template <class T>
HWY_INLINE void butterfly(const Numbers<T> (&x)[8], Numbers<T> (&y)[8]) {
  const T kRootHalf = static_cast<T>(0.70710678118654752440);
  Numbers<T> even[4], odd[4];
  butterfly<T>({x[0], x[2], x[4], x[6]}, even);
  butterfly<T>({x[1], x[3], x[5], x[7]}, odd);
  odd[1] = (odd[1] + odd[1].turned()).scaled(kRootHalf);
  odd[2] = odd[2].turned();
  odd[3] = (odd[3].turned() - odd[3]).scaled(kRootHalf);
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    y[k] = even[k] + odd[k];
    y[k + 4] = even[k] - odd[k];
  }
}

// Transforms the numbers `in_step` apart, number r times exp(-2 pi i k r / (done * radix)).
template <int kRadix, class T>
HWY_NOINLINE void combine_numbers(const Pass<T>& pass, int64_t k, const T* in, int64_t in_step,
                                  T* out, int64_t out_step) {
  Numbers<T> x[kRadix], y[kRadix];
#pragma GCC unroll 8
  for (int r = 0; r < kRadix; ++r) x[r] = Numbers<T>::load(in + r * in_step * kPitch<T>);
  if (k != 0) {
    const int64_t turn = k * pass.blocks();
#pragma GCC unroll 8
    for (int r = 1; r < kRadix; ++r) x[r] = x[r].times(pass.roots + 2 * r * turn);
  }
  butterfly<T>(x, y);
#pragma GCC unroll 8
  for (int r = 0; r < kRadix; ++r) y[r].store(out + r * out_step * kPitch<T>);
}

template <class T, int kRadix>
void run_pass(const Pass<T>& pass) {
  const int64_t blocks = pass.blocks();
  for (int64_t k = 0; k < pass.done; ++k)
    for (int64_t b = 0; b < blocks; ++b)
      combine_numbers<kRadix>(pass, k, pass.in + (k * kRadix * blocks + b) * kPitch<T>, blocks,
                              pass.out + (k * blocks + b) * kPitch<T>, pass.done * blocks);
}

// For odd radices: numbers j and radix - j have conjugate roots, so their sum and difference
// suffice.
template <class T>
void run_odd_pass(const Pass<T>& pass) {
  constexpr int64_t kHalf = kLargestFactor / 2 + 1;
  HWY_ALIGN T sums[kHalf * kPitch<T>];
  HWY_ALIGN T gaps[kHalf * kPitch<T>];
  const int64_t blocks = pass.blocks(), half = pass.radix / 2;
  for (int64_t k = 0; k < pass.done; ++k)
    for (int64_t b = 0; b < blocks; ++b) {
      const auto number = [&](int64_t r) HWY_ATTR {
        return Numbers<T>::load(pass.in + ((k * pass.radix + r) * blocks + b) * kPitch<T>)
            .times(pass.roots + 2 * k * r * blocks);
      };
      const auto place = [&](int64_t r) HWY_ATTR {
        return pass.out + ((r * pass.done + k) * blocks + b) * kPitch<T>;
      };
      const Numbers<T> first = number(0);
      Numbers<T> total = first;
      for (int64_t j = 1; j <= half; ++j) {
        const Numbers<T> low = number(j), high = number(pass.radix - j);
        const Numbers<T> sum = low + high;
        sum.store(sums + j * kPitch<T>);
        (low - high).store(gaps + j * kPitch<T>);
        total = total + sum;
      }
      total.store(place(0));
      for (int64_t r = 1; r <= half; ++r) {
        Numbers<T> even = first;
        Numbers<T> odd = {hn::Zero(Tag<T>()), hn::Zero(Tag<T>())};
        for (int64_t j = 1; j <= half; ++j) {
          const T* root = pass.roots + 2 * (j * r % pass.radix) * (pass.n / pass.radix);
          even = even + Numbers<T>::load(sums + j * kPitch<T>).scaled(root[0]);
          odd = odd + Numbers<T>::load(gaps + j * kPitch<T>).turned().scaled(-root[1]);
        }
        (even + odd).store(place(r));
        (even - odd).store(place(pass.radix - r));
      }
    }
}

// Lane j of vector i becomes lane i of vector j. Each round moves the last bit of the lane's number
// to the front of the vector's number, and the last bit of that to the front of the lane's.
template <class T, int64_t kRounds = kWidth<T>>
HWY_INLINE void turn_square([[maybe_unused]] hn::Vec<Tag<T>> (&rows)[kWidth<T>]) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kRounds > 1) {
    constexpr int64_t kHalf = kWidth<T> / 2;
    hn::Vec<Tag<T>> turned[kWidth<T>];
#pragma GCC unroll 8
    for (int64_t i = 0; i < kHalf; ++i) {
      turned[i] = hn::ConcatEven(Tag<T>(), rows[2 * i + 1], rows[2 * i]);
      turned[i + kHalf] = hn::ConcatOdd(Tag<T>(), rows[2 * i + 1], rows[2 * i]);
    }
    turn_square<T, kRounds / 2>(turned);
#pragma GCC unroll 16
    for (int64_t i = 0; i < kWidth<T>; ++i) rows[i] = turned[i];
  }
#endif
}

// The numbers of a line that is missing.
template <class T>
HWY_ALIGN constexpr T kNone[kPitch<T>] = {};

// Loads kWidth adjacent numbers of each line, from number `first` on; missing lines are 0.
template <class T>
HWY_INLINE void load_square(const FourierLines<T>& lines, int64_t first, bool swapped, T* to) {
  hn::Vec<Tag<T>> re[kWidth<T>], im[kWidth<T>];
  for (int64_t l = 0; l < kWidth<T>; ++l) {
    const T* from = lines.from + 2 * (l * lines.from_distance + first);
    hn::LoadInterleaved2(Tag<T>(), l < lines.lines ? from : kNone<T>, re[l], im[l]);
  }
  turn_square<T>(re);
  turn_square<T>(im);
  const int64_t re_place = swapped ? kWidth<T> : 0;
  for (int64_t j = 0; j < kWidth<T>; ++j) {
    hn::StoreU(re[j], Tag<T>(), to + j * kPitch<T> + re_place);
    hn::StoreU(im[j], Tag<T>(), to + j * kPitch<T> + kWidth<T> - re_place);
  }
}

// Stores kWidth numbers, kPitch apart, as adjacent numbers of the lines, from number `first` on.
template <class T>
HWY_INLINE void store_square(const FourierLines<T>& lines, int64_t first, const T* numbers) {
  hn::Vec<Tag<T>> re[kWidth<T>], im[kWidth<T>];
  for (int64_t j = 0; j < kWidth<T>; ++j) {
    const Numbers<T> x = Numbers<T>::load(numbers + j * kPitch<T>);
    re[j] = x.re;
    im[j] = x.im;
  }
  turn_square<T>(re);
  turn_square<T>(im);
  for (int64_t l = 0; l < lines.lines; ++l)
    hn::StoreInterleaved2(re[l], im[l], Tag<T>(), lines.to + 2 * (l * lines.to_distance + first));
}

// Numbers of each line that are gathered into vectors at a time: they stay in the L1 cache.
constexpr int64_t kTile = 16;

// buffer[(j - first) * kPitch] = numbers j of all lines; missing lines are 0.
template <class T>
HWY_NOINLINE void gather_tile(const FourierLines<T>& lines, int64_t first, int64_t count,
                              T* buffer) {
  if (lines.lines < kWidth<T>) std::fill(buffer, buffer + count * kPitch<T>, T(0));
  for (int64_t l = 0; l < lines.lines; ++l) {
    const T* from = lines.from + 2 * (l * lines.from_distance + first * lines.from_stride);
    for (int64_t j = 0; j < count; ++j)
      std::copy_n(from + 2 * j * lines.from_stride, 2, buffer + j * kPitch<T> + 2 * l);
  }
}

// Loads the numbers of all lines in [first, end).
template <class T>
void load_lines(const FourierLines<T>& lines, int64_t first, int64_t end, bool swapped, T* to) {
  HWY_ALIGN T buffer[kTile * kPitch<T>];
  const bool side_by_side = lines.from_distance == 1 && lines.lines == kWidth<T>;
  if (lines.from_stride == 1)
    for (; first + kWidth<T> <= end; first += kWidth<T>, to += kWidth<T> * kPitch<T>)
      load_square(lines, first, swapped, to);
  for (; first < end; first += kTile) {
    const int64_t here = std::min(kTile, end - first);
    if (!side_by_side) gather_tile(lines, first, here, buffer);
    for (int64_t j = 0; j < here; ++j, to += kPitch<T>) {
      const T* pairs =
          side_by_side ? lines.from + 2 * (first + j) * lines.from_stride : buffer + j * kPitch<T>;
      Numbers<T> x;
      hn::LoadInterleaved2(Tag<T>(), pairs, x.re, x.im);
      if (swapped) std::swap(x.re, x.im);
      x.store(to);
    }
  }
}

// Stores numbers, kPitch apart, as those in [first, end) of all lines; at most kTile.
template <class T>
HWY_NOINLINE void store_tile(const FourierLines<T>& lines, int64_t first, int64_t end,
                             const T* numbers) {
  HWY_ALIGN T buffer[kTile * kPitch<T>];
  const bool side_by_side = lines.to_distance == 1 && lines.lines == kWidth<T>;
  for (; lines.to_stride == 1 && first + kWidth<T> <= end; first += kWidth<T>) {
    store_square(lines, first, numbers);
    numbers += kWidth<T> * kPitch<T>;
  }
  for (int64_t j = first; j < end; ++j, numbers += kPitch<T>) {
    const Numbers<T> x = Numbers<T>::load(numbers);
    hn::StoreInterleaved2(
        x.re, x.im, Tag<T>(),
        side_by_side ? lines.to + 2 * j * lines.to_stride : buffer + (j - first) * kPitch<T>);
  }
  for (int64_t l = 0; !side_by_side && l < lines.lines; ++l) {
    T* to = lines.to + 2 * l * lines.to_distance;
    for (int64_t j = first; j < end; ++j)
      std::copy_n(buffer + (j - first) * kPitch<T> + 2 * l, 2, to + 2 * j * lines.to_stride);
  }
}

// Stores the result of number(j) as number j of all lines, for j in [first, end).
template <class T, class F>
void store_lines(const FourierLines<T>& lines, int64_t first, int64_t end, const F& number) {
  HWY_ALIGN T buffer[kTile * kPitch<T>];
  for (; first < end; first += kTile) {
    const int64_t last = std::min(end, first + kTile);
    for (int64_t j = first; j < last; ++j) number(j).store(buffer + (j - first) * kPitch<T>);
    store_tile(lines, first, last, buffer);
  }
}

// The first pass of radix 8, with numbers that are loaded from the lines just before.
template <class T>
void run_first_pass(const FourierLines<T>& lines, const Pass<T>& pass, bool swapped) {
  HWY_ALIGN T buffer[8 * kTile * kPitch<T>];
  const int64_t blocks = pass.blocks();
  for (int64_t begin = 0; begin < blocks; begin += kTile) {
    const int64_t here = std::min(kTile, blocks - begin);
    for (int64_t r = 0; r < 8; ++r)
      load_lines(lines, r * blocks + begin, r * blocks + begin + here, swapped,
                 buffer + r * kTile * kPitch<T>);
    for (int64_t b = 0; b < here; ++b)
      combine_numbers<8>(pass, 0, buffer + b * kPitch<T>, kTile, pass.out + (begin + b) * kPitch<T>,
                         blocks);
  }
}

// The last pass, with results that are stored in the lines as finish(k, number k) at once.
template <int kRadix, class T, class F>
void run_last_pass(const FourierLines<T>& lines, const Pass<T>& pass, const F& finish) {
  HWY_ALIGN T buffer[kRadix * kTile * kPitch<T>];
  for (int64_t begin = 0; begin < pass.done; begin += kTile) {
    const int64_t here = std::min(kTile, pass.done - begin);
    for (int64_t k = 0; k < here; ++k)
      combine_numbers<kRadix>(pass, begin + k, pass.in + (begin + k) * kRadix * kPitch<T>, 1,
                              buffer + k * kPitch<T>, kTile);
    for (int64_t r = 0; r < kRadix; ++r) {
      const int64_t first = r * pass.done + begin;
      const T* results = buffer + r * kTile * kPitch<T>;
      store_lines(lines, first, first + here, [&](int64_t k) HWY_ATTR {
        return finish(k, Numbers<T>::load(results + (k - first) * kPitch<T>));
      });
    }
  }
}

// Real numbers 2j and 2j + 1 form one complex number. Z is the transform of these complex numbers.
// The sum and the difference of Z[k] and the conjugate of Z[n - k] give the transforms of the even
// and of the odd numbers. Leaves n + 1 numbers, all of them doubled.
template <class T>
void join_halves(const FourierLines<T>& lines, T* z) {
  const int64_t n = lines.n;
  const auto at = [z](int64_t k) { return z + k * kPitch<T>; };
  const Numbers<T> first = Numbers<T>::load(at(0));
  const auto zero = hn::Zero(Tag<T>());
  const auto twice = hn::Set(Tag<T>(), T(2));
  Numbers<T>{hn::Mul(twice, hn::Add(first.re, first.im)), zero}.store(at(0));
  Numbers<T>{hn::Mul(twice, hn::Sub(first.re, first.im)), zero}.store(at(n));
  for (int64_t k = 1; 2 * k <= n; ++k) {
    const Numbers<T> a = Numbers<T>::load(at(k));
    const Numbers<T> b = Numbers<T>::load(at(n - k)).conjugate();
    const Numbers<T> turned = (a - b).times(lines.real_roots + 2 * k).turned();
    (a + b - turned).conjugate().store(at(n - k));
    (a + b + turned).store(at(k));
  }
}

// The inverse of join_halves; its results have real and imaginary parts swapped. Imaginary parts
// that are 0 in the spectrum of a real signal are ignored.
template <class T>
void split_halves(const FourierLines<T>& lines, T* z) {
  const int64_t n = lines.n;
  const auto at = [z](int64_t k) { return z + k * kPitch<T>; };
  const auto first = Numbers<T>::load(at(0)).re, last = Numbers<T>::load(at(n)).re;
  Numbers<T>{hn::Sub(first, last), hn::Add(first, last)}.store(at(0));
  for (int64_t k = 1; 2 * k <= n; ++k) {
    const Numbers<T> a = Numbers<T>::load(at(k));
    const Numbers<T> b = Numbers<T>::load(at(n - k)).conjugate();
    const T* root = lines.real_roots + 2 * k;
    const T conjugate[2] = {root[0], -root[1]};
    const Numbers<T> turned = (b - a).times(conjugate).turned();
    const Numbers<T> low = a + b + turned, high = (a + b - turned).conjugate();
    Numbers<T>{high.im, high.re}.store(at(n - k));
    Numbers<T>{low.im, low.re}.store(at(k));
  }
}

template <class T>
void run_whole_pass(const Pass<T>& pass) {
  if (pass.radix == 8) return run_pass<T, 8>(pass);
  if (pass.radix == 4) return run_pass<T, 4>(pass);
  if (pass.radix == 2) return run_pass<T, 2>(pass);
  if (pass.radix == 3) return run_pass<T, 3>(pass);
  if (pass.radix == 5) return run_pass<T, 5>(pass);
  run_odd_pass<T>(pass);
}

template <class T>
void transform(const FourierLines<T>& lines) {
  const int64_t n = lines.n;
  Pass<T> pass{lines.work, lines.work + (n + 1) * kPitch<T>, n, 1, 1, lines.roots};
  const auto finish = [&](int64_t k, Numbers<T> x) HWY_ATTR {
    x = x.scaled(lines.scale);
    if (lines.shifts != nullptr) {
      Numbers<T> turn;
      hn::LoadInterleaved2(Tag<T>(), lines.turns + k * kPitch<T>, turn.re, turn.im);
      turn = turn.times(lines.shifts + 2 * k);
      x = x.times(turn.re, turn.im);
    }
    if (!lines.forward) std::swap(x.re, x.im);
    return x;
  };
  // Swapping real and imaginary parts before and after the transform gives the inverse transform.
  const bool from_spectra = lines.real == RealLines::from_spectra;
  const bool swapped = !lines.forward && !from_spectra;
  // Numbers that exceed the L1 cache are read by the first pass and written by the last.
  const bool is_long = n >= 8 * kTile;
  const bool reads = is_long && !from_spectra && lines.factors.front() == 8;
  if (!reads) load_lines(lines, 0, from_spectra ? n + 1 : n, swapped, lines.work);
  if (from_spectra) split_halves(lines, lines.work);
  for (const int64_t radix : lines.factors) {
    pass.radix = radix;
    const bool writes = is_long && lines.real != RealLines::to_spectra && pass.blocks() == 1;
    if (writes && radix == 8) return run_last_pass<8>(lines, pass, finish);
    if (writes && radix == 4) return run_last_pass<4>(lines, pass, finish);
    reads&& pass.done == 1 ? run_first_pass(lines, pass, swapped) : run_whole_pass(pass);
    pass.done *= radix;
    std::swap(pass.in, pass.out);
  }
  T* const z = pass.in;
  if (lines.real == RealLines::to_spectra) {
    join_halves(lines, z);
    return store_lines(lines, 0, lines.length, [&](int64_t k) HWY_ATTR {
      const Numbers<T> x = Numbers<T>::load(z + (k <= n ? k : 2 * n - k) * kPitch<T>);
      return (k <= n ? x : x.conjugate()).scaled(lines.scale);
    });
  }
  store_lines(lines, 0, n,
              [&](int64_t k) HWY_ATTR { return finish(k, Numbers<T>::load(z + k * kPitch<T>)); });
}

void transform_floats(const FourierLines<float>& lines) { transform(lines); }
void transform_doubles(const FourierLines<double>& lines) { transform(lines); }
int64_t float_lanes() { return kWidth<float>; }
int64_t double_lanes() { return kWidth<double>; }

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(transform_floats);
PT2_EXPORT(transform_doubles);
PT2_EXPORT(float_lanes);
PT2_EXPORT(double_lanes);

template <>
int64_t fourier_lanes<float>() {
  return PT2_DISPATCH(float_lanes)();
}
template <>
int64_t fourier_lanes<double>() {
  return PT2_DISPATCH(double_lanes)();
}

template <>
void transform_lines<float>(const FourierLines<float>& lines) {
  PT2_DISPATCH(transform_floats)(lines);
}
template <>
void transform_lines<double>(const FourierLines<double>& lines) {
  PT2_DISPATCH(transform_doubles)(lines);
}

}  // namespace pt2::kernels
#endif
