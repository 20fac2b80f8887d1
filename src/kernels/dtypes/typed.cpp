#include "kernels/dtypes/typed.h"

#include <algorithm>
#include <functional>
#include <type_traits>

#include "kernels/dtypes/pairs.h"

namespace pt2::kernels {
namespace {

// Calls visit(at) for each row of the innermost dimension in order; `at` is the index in the outer
// dimensions.
template <class Visit>
void for_each_row(const std::array<int64_t, kTypedDims>& sizes, const Visit& visit) {
  std::array<int64_t, kTypedDims - 1> at{};
  for (at[0] = 0; at[0] < sizes[0]; ++at[0])
    for (at[1] = 0; at[1] < sizes[1]; ++at[1])
      for (at[2] = 0; at[2] < sizes[2]; ++at[2])
        for (at[3] = 0; at[3] < sizes[3]; ++at[3]) visit(at);
}
template <class Element>
const Element* row_of(const TypedOperand& operand, const std::array<int64_t, kTypedDims - 1>& at) {
  const auto& s = operand.strides;
  return static_cast<const Element*>(operand.data) + at[0] * s[0] + at[1] * s[1] + at[2] * s[2] +
         at[3] * s[3];
}

// Number of elements of a row that a function processes at a time, contiguously.
constexpr int64_t kPart = 1024;

// Returns `count` elements with stride `stride` as contiguous elements, copied to `memory` if need
// be.
template <class Element>
[[gnu::noinline]] const Element* side_by_side(const Element* from, int64_t stride, int64_t count,
                                              Element* memory) {
  if (stride == 1) return from;
  for (int64_t i = 0; i < count; ++i) memory[i] = from[i * stride];
  return memory;
}

template <class In, class Out, class Function>
void run_row(const In* a, int64_t a_stride, const In* b, int64_t b_stride, Out* __restrict out,
             int64_t count, const Function& function) {
  In left[kPart], right[kPart];
  for (int64_t begin = 0; begin < count; begin += kPart) {
    const int64_t part = std::min(kPart, count - begin);
    const In* x = side_by_side(a + begin * a_stride, a_stride, part, left);
    if (b_stride == 0) {
      for (int64_t i = 0; i < part; ++i) out[begin + i] = static_cast<Out>(function(x[i], *b));
    } else {
      const In* y = side_by_side(b + begin * b_stride, b_stride, part, right);
      for (int64_t i = 0; i < part; ++i) out[begin + i] = static_cast<Out>(function(x[i], y[i]));
    }
  }
}

template <class In, class Out, class Function>
bool run(const TypedLoop& loop, const Function& function) {
  const int64_t count = loop.sizes.back();
  auto* out = static_cast<Out*>(loop.out);
  for_each_row(loop.sizes, [&](const auto& at) {
    run_row(row_of<In>(loop.a, at), loop.a.strides.back(), row_of<In>(loop.b, at),
            loop.b.strides.back(), out, count, function);
    out += count;
  });
  return true;
}

template <class Number>
bool run_pairs(const TypedLoop& loop) {
  if (loop.function > TypedFunction::multiply) return false;
  const int64_t count = loop.sizes.back(), s = loop.a.strides.back(), t = loop.b.strides.back();
  auto* out = static_cast<Number*>(loop.out);
  Number left[kPart], right[kPart];
  for_each_row(loop.sizes, [&](const auto& at) {
    const Number *a = row_of<Number>(loop.a, at), *b = row_of<Number>(loop.b, at);
    for (int64_t begin = 0; begin < count; begin += kPart) {
      const int64_t part = std::min(kPart, count - begin);
      combine_pairs(loop.function, side_by_side(a + begin * s, s, part, left),
                    side_by_side(b + begin * t, t, part, right), out + begin, part);
    }
    out += count;
  });
  return true;
}

// Compares the values that `seen` maps the elements to.
template <class In, class Seen = std::identity>
bool compare(const TypedLoop& loop, const Seen& seen = {}) {
  const auto run_with = [&](const auto& function) {
    return run<In, bool>(loop, [&](In a, In b) { return function(seen(a), seen(b)); });
  };
  switch (loop.function) {
    case TypedFunction::less:
      return run_with(std::less<>());
    case TypedFunction::less_equal:
      return run_with(std::less_equal<>());
    case TypedFunction::greater:
      return run_with(std::greater<>());
    case TypedFunction::greater_equal:
      return run_with(std::greater_equal<>());
    case TypedFunction::equal:
      return run_with(std::equal_to<>());
    case TypedFunction::not_equal:
      return run_with(std::not_equal_to<>());
    default:
      return false;
  }
}

// Sums and products of signed integers have the same bits as those of unsigned integers.
template <class U>
bool compute_wholes(const TypedLoop& loop) {
  switch (loop.function) {
    case TypedFunction::add:
      return run<U, U>(loop, std::plus<U>());
    case TypedFunction::subtract:
      return run<U, U>(loop, std::minus<U>());
    case TypedFunction::subtract_from:
      return run<U, U>(loop, [](U a, U b) { return b - a; });
    case TypedFunction::multiply:
      // `1U *`: uint16_t operands would otherwise be promoted to int, and their product may
      // overflow.
      return run<U, U>(loop, [](U a, U b) { return static_cast<U>(1U * a * b); });
    case TypedFunction::common_bits:
      return run<U, U>(loop, std::bit_and<U>());
    case TypedFunction::any_bits:
      return run<U, U>(loop, std::bit_or<U>());
    case TypedFunction::different_bits:
      return run<U, U>(loop, std::bit_xor<U>());
    default:
      return false;
  }
}

// Processors can shift a vector of bytes only by one count for all lanes, so this shifts by one
// binary digit of the count at a time.
template <int digit, class T, class Shift>
T shift_by_digit(T x, uint8_t by, const Shift& shift) {
  const T on = static_cast<T>(-static_cast<T>((by & digit) != 0));
  return static_cast<T>((shift(x, digit) & on) | (x & ~on));
}
template <class T, class Shift>
T shift_by_digits(T x, uint8_t by, const Shift& shift) {
  return shift_by_digit<1>(shift_by_digit<2>(shift_by_digit<4>(x, by, shift), by, shift), by,
                           shift);
}
template <class T>
T left_shifted(T x, T by) {
  using U = std::make_unsigned_t<T>;
  const auto bits = static_cast<U>(x), count = static_cast<U>(by);
  constexpr U kBits = 8 * sizeof(T);
  const U inside = static_cast<U>(-static_cast<U>(count < kBits));
  if constexpr (sizeof(T) == 1)
    return static_cast<T>(shift_by_digits(bits, count, [](U b, int n) { return b << n; }) & inside);
  else
    return static_cast<T>(bits << (count % kBits) & inside);
}
// An integer that holds a byte of type T and that processors shift in vectors.
template <class T>
using Wide = std::conditional_t<std::is_signed_v<T>, int16_t, uint16_t>;
template <class T>
T right_shifted(T x, T by) {
  using U = std::make_unsigned_t<T>;
  const auto count = static_cast<U>(by);
  constexpr U kBits = 8 * sizeof(T);
  const T beyond = static_cast<T>(x < 0 ? -1 : 0);
  const U inside = static_cast<U>(-static_cast<U>(count < kBits));
  T moved = 0;
  if constexpr (sizeof(T) == 1)
    moved =
        static_cast<T>(shift_by_digits(Wide<T>{x}, count, [](Wide<T> b, int n) { return b >> n; }));
  else
    moved = static_cast<T>(x >> (count % kBits));
  return static_cast<T>((static_cast<U>(moved) & inside) |
                        (static_cast<U>(beyond) & static_cast<U>(~inside)));
}
template <class T>
bool run_right_shift(const TypedLoop& loop) {
  const auto is_broadcast = [](int64_t stride) { return stride == 0; };
  if constexpr (sizeof(T) == 1)
    if (std::ranges::all_of(loop.b.strides, is_broadcast)) {
      // One count for all elements; a shift by 15 leaves only the sign.
      const int count = std::min<int>(*static_cast<const uint8_t*>(loop.b.data), 15);
      return run<T, T>(loop, [count](T x, T) { return static_cast<T>(Wide<T>{x} >> count); });
    }
  return run<T, T>(loop, [](T x, T by) { return right_shifted(x, by); });
}

// Clamps the first operand between the other two, which are usually constant along a row.
template <class T>
bool run_between(const TypedLoop& loop) {
  const int64_t count = loop.sizes.back(), s = loop.a.strides.back(), t = loop.b.strides.back(),
                u = loop.c.strides.back();
  const auto between = [](T x, T low, T high) {
    const T above = x < low ? low : x;
    return high < above ? high : above;
  };
  auto* __restrict out = static_cast<T*>(loop.out);
  for_each_row(loop.sizes, [&](const auto& at) {
    const T *x = row_of<T>(loop.a, at), *low = row_of<T>(loop.b, at), *high = row_of<T>(loop.c, at);
    if (s == 1 && t == 0 && u == 0)
      for (int64_t i = 0; i < count; ++i) out[i] = between(x[i], *low, *high);
    else
      for (int64_t i = 0; i < count; ++i) out[i] = between(x[i * s], low[i * t], high[i * u]);
    out += count;
  });
  return true;
}

template <class T>
bool compute_signed(const TypedLoop& loop) {
  using U = std::make_unsigned_t<T>;
  switch (loop.function) {
    case TypedFunction::smaller:
      return run<T, T>(loop, [](T a, T b) { return b < a ? b : a; });
    case TypedFunction::larger:
      return run<T, T>(loop, [](T a, T b) { return a < b ? b : a; });
    case TypedFunction::shift_left:
      return run<T, T>(loop, [](T a, T b) { return left_shifted(a, b); });
    case TypedFunction::shift_right:
      return run_right_shift<T>(loop);
    case TypedFunction::order:
      return run<T, T>(loop, [](T a, T b) { return (a > b) - (a < b); });
    case TypedFunction::magnitude:
      return run<T, T>(
          loop, [](T a, T) { return static_cast<T>(a < 0 ? U(0) - static_cast<U>(a) : U(a)); });
    case TypedFunction::between:
      return run_between<T>(loop);
    default:
      return false;
  }
}

// Every number except 0 is true.
template <class T>
bool combine_truths(const TypedLoop& loop) {
  switch (loop.function) {
    case TypedFunction::both:
      return run<T, bool>(loop, [](T a, T b) { return (a != 0) & (b != 0); });
    case TypedFunction::either:
      return run<T, bool>(loop, [](T a, T b) { return (a != 0) | (b != 0); });
    case TypedFunction::one_alone:
      return run<T, bool>(loop, [](T a, T b) { return (a != 0) != (b != 0); });
    case TypedFunction::negated:
      return run<T, bool>(loop, [](T a, T) { return a == 0; });
    default:
      return false;
  }
}

// Integers of type T.
template <class T>
bool run_wholes(const TypedLoop& loop) {
  using U = std::make_unsigned_t<T>;
  return compute_wholes<U>(loop) || compute_signed<T>(loop) || compare<T>(loop) ||
         combine_truths<U>(loop);
}

template <class Element>
void choose(const TypedChoice& choice) {
  const int64_t count = choice.sizes.back(), s = choice.a.strides.back(),
                t = choice.b.strides.back(), m = choice.mask.strides.back();
  auto* out = static_cast<Element*>(choice.out);
  for_each_row(choice.sizes, [&](const auto& at) {
    const auto *x = row_of<Element>(choice.a, at), *y = row_of<Element>(choice.b, at);
    const auto* flag = row_of<uint8_t>(choice.mask, at);
    if (s == 1 && t == 0 && m == 1)
      for (int64_t e = 0; e < count; ++e) out[e] = flag[e] != 0 ? x[e] : *y;
    else if (s == 0 && t == 1 && m == 1)
      for (int64_t e = 0; e < count; ++e) out[e] = flag[e] != 0 ? *x : y[e];
    else
      for (int64_t e = 0; e < count; ++e) out[e] = flag[e * m] != 0 ? x[e * s] : y[e * t];
    out += count;
  });
}

// A bool as it is stored in memory.
enum class Flag : uint8_t {};

template <class To, class From>
void convert_rows(const TypedConversion& conversion) {
  const int64_t count = conversion.sizes.back(), s = conversion.operand.strides.back();
  const auto convert = [](From x) {
    if constexpr (std::is_same_v<To, bool> || std::is_same_v<From, Flag>)
      return static_cast<To>(x != From{});
    else
      return static_cast<To>(x);
  };
  auto* __restrict out = static_cast<To*>(conversion.out);
  From memory[kPart];
  for_each_row(conversion.sizes, [&](const auto& at) {
    const From* row = row_of<From>(conversion.operand, at);
    for (int64_t begin = 0; begin < count; begin += kPart) {
      const int64_t part = std::min(kPart, count - begin);
      const From* x = side_by_side(row + begin * s, s, part, memory);
      for (int64_t i = 0; i < part; ++i) out[i] = convert(x[i]);
      out += part;
    }
  });
}

template <class From>
void convert_from(const TypedConversion& conversion) {
  switch (conversion.to) {
    case TypedElement::boolean:
      return convert_rows<bool, From>(conversion);
    case TypedElement::small:
    case TypedElement::byte:
      return convert_rows<uint8_t, From>(conversion);
    case TypedElement::narrow:
      return convert_rows<uint16_t, From>(conversion);
    case TypedElement::medium:
      return convert_rows<uint32_t, From>(conversion);
    case TypedElement::whole:
      return convert_rows<uint64_t, From>(conversion);
    case TypedElement::real:
    case TypedElement::pair:
    case TypedElement::wide_pair:
      break;
  }
}

}  // namespace

void run_conversion(const TypedConversion& conversion) {
  switch (conversion.from) {
    case TypedElement::boolean:
      return convert_from<Flag>(conversion);
    case TypedElement::small:
      return convert_from<int8_t>(conversion);
    case TypedElement::byte:
      return convert_from<uint8_t>(conversion);
    case TypedElement::narrow:
      return convert_from<int16_t>(conversion);
    case TypedElement::medium:
      return convert_from<int32_t>(conversion);
    case TypedElement::whole:
      return convert_from<int64_t>(conversion);
    case TypedElement::real:
    case TypedElement::pair:
    case TypedElement::wide_pair:
      break;
  }
}

void run_choice(const TypedChoice& choice) {
  switch (choice.bytes) {
    case 1:
      return choose<uint8_t>(choice);
    case 2:
      return choose<uint16_t>(choice);
    case 4:
      return choose<uint32_t>(choice);
    default:
      return choose<uint64_t>(choice);
  }
}

bool run_typed(const TypedLoop& loop) {
  switch (loop.element) {
    case TypedElement::boolean:
      return combine_truths<uint8_t>(loop) ||
             compare<uint8_t>(loop, [](uint8_t x) { return x != 0; });
    case TypedElement::whole:
      return run_wholes<int64_t>(loop);
    case TypedElement::real:
      return compare<float>(loop);
    case TypedElement::medium:
      return run_wholes<int32_t>(loop);
    case TypedElement::narrow:
      return run_wholes<int16_t>(loop);
    case TypedElement::small:
      return run_wholes<int8_t>(loop);
    case TypedElement::byte:
      return run_wholes<uint8_t>(loop);
    case TypedElement::pair:
      return run_pairs<Pair<float>>(loop);
    case TypedElement::wide_pair:
      return run_pairs<Pair<double>>(loop);
  }
  return false;
}

}  // namespace pt2::kernels
