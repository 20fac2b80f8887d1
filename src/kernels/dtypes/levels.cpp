#include "kernels/dtypes/levels.h"

#include <algorithm>
#include <array>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dtypes/levels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

// Converts numbers to levels.
struct LevelRounding {
  // A float this large has no fraction bits, so adding to it rounds. Every vector unit can add, but
  // not every one can round.
  V whole = set(0x1.8p23f);
  V inverse, zero, low, high;
  explicit LevelRounding(const Levels& levels)
      : inverse(set(levels.inverse)),
        zero(set(levels.zero)),
        low(set(levels.low)),
        high(set(levels.high)) {}

  // Returns the clamped and rounded number, plus `whole`.
  HWY_INLINE V raised(V scaled) const {
    return hn::Add(hn::Min(hn::Max(scaled, low), high), whole);
  }
  HWY_INLINE V level(V x) const {
    const V scaled = hn::Mul(x, inverse);
    const V rounded = hn::Sub(raised(scaled), whole);
    return hn::IfThenElseZero(hn::Eq(scaled, scaled), hn::Add(rounded, zero));
  }
};

void round_span(const float* in, int64_t count, const Levels& levels, float* out) {
  const LevelRounding rounding(levels);
  const V back_zero = set(levels.back_zero), scale = set(levels.scale);
  map_span(in, out, count,
           [&](V x) HWY_ATTR { return hn::Mul(hn::Sub(rounding.level(x), back_zero), scale); });
}

// The bytes are the same for uint8 and int8.
void store_levels(const float* in, int64_t count, const Levels& levels, uint8_t* out) {
  const LevelRounding rounding(levels);
  const hn::Rebind<uint8_t, Floats> bytes;
  const hn::Rebind<uint32_t, Floats> words;
  // The lowest byte of `whole` is 0, so the lowest byte of a sum with it is that of the integer.
  const auto zero = hn::Set(words, static_cast<uint32_t>(static_cast<int32_t>(levels.zero)));
  const auto level = [&](V x) HWY_ATTR {
    const V scaled = hn::Mul(x, rounding.inverse);
    const auto sum = hn::Add(hn::BitCast(words, rounding.raised(scaled)), zero);
    return hn::TruncateTo(bytes,
                          hn::IfThenElseZero(hn::RebindMask(words, hn::Eq(scaled, scaled)), sum));
  };
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(level(load(in + i)), bytes, out + i);
  if (i == count) return;
  std::array<uint8_t, kLanes> last;
  hn::StoreU(level(load_first(in + i, count - i)), bytes, last.data());
  std::copy_n(last.data(), count - i, out + i);
}

template <class Level>
void load_levels(const Level* in, int64_t count, const Levels& levels, float* out) {
  const V back_zero = set(levels.back_zero), scale = set(levels.scale);
  const hn::Rebind<Level, Floats> bytes;
  const auto number = [&](const Level* from) HWY_ATTR {
    const V level = hn::ConvertTo(Floats(), hn::PromoteTo(Ints(), hn::LoadU(bytes, from)));
    return hn::Mul(hn::Sub(level, back_zero), scale);
  };
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(number(in + i), out + i);
  if (i == count) return;
  std::array<Level, kLanes> last{};
  std::copy_n(in + i, count - i, last.data());
  store_first(number(last.data()), out + i, count - i);
}

void load_unsigned(const uint8_t* in, int64_t count, const Levels& levels, float* out) {
  load_levels(in, count, levels, out);
}
void load_signed(const int8_t* in, int64_t count, const Levels& levels, float* out) {
  load_levels(in, count, levels, out);
}

void requantize_span(const Requantization& to, float* numbers, int64_t count, uint8_t* out) {
  for (const Requantization::Rounding& rounding : to.roundings) {
    round_span(numbers, count, rounding.levels, numbers);
    if (rounding.activation != Activation::none)
      activate_span(rounding.activation, numbers, numbers, count);
  }
  store_levels(numbers, count, to.last, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(round_span);
PT2_EXPORT(store_levels);
PT2_EXPORT(load_unsigned);
PT2_EXPORT(load_signed);
PT2_EXPORT(requantize_span);

namespace {

template <class In, class Out, class Span>
void run_spans(const In* in, int64_t count, const Levels& levels, Out* out, ThreadPool* pool,
               Span span) {
  constexpr int64_t kSpan = int64_t{1} << 14;
  run_tasks(pool, (count + kSpan - 1) / kSpan, [&](int64_t task, int) {
    const int64_t begin = task * kSpan;
    span(in + begin, std::min(kSpan, count - begin), levels, out + begin);
  });
}

}  // namespace

void round_to_levels(const float* in, int64_t count, const Levels& levels, float* out,
                     ThreadPool* pool) {
  run_spans(in, count, levels, out, pool, PT2_DISPATCH(round_span));
}
void to_levels(const float* in, int64_t count, const Levels& levels, uint8_t* out,
               ThreadPool* pool) {
  run_spans(in, count, levels, out, pool, PT2_DISPATCH(store_levels));
}
void from_levels(const uint8_t* in, int64_t count, const Levels& levels, float* out,
                 ThreadPool* pool) {
  run_spans(in, count, levels, out, pool, PT2_DISPATCH(load_unsigned));
}
void from_levels(const int8_t* in, int64_t count, const Levels& levels, float* out,
                 ThreadPool* pool) {
  run_spans(in, count, levels, out, pool, PT2_DISPATCH(load_signed));
}
void requantize(const Requantization& requantization, float* numbers, int64_t count, uint8_t* out,
                ThreadPool* pool) {
  constexpr int64_t kSpan = int64_t{1} << 12;  // fits the L1 cache
  run_tasks(pool, (count + kSpan - 1) / kSpan, [&](int64_t task, int) {
    const int64_t begin = task * kSpan;
    PT2_DISPATCH(requantize_span)
    (requantization, numbers + begin, std::min(kSpan, count - begin), out + begin);
  });
}

}  // namespace pt2::kernels
#endif
