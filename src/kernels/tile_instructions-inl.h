// Executes the instructions of a tile program on the numbers of one tile. Included once for each
// target, inside no namespace, by sources that list themselves in HWY_TARGET_INCLUDE.
#if defined(PT2_KERNELS_TILE_INSTRUCTIONS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PT2_KERNELS_TILE_INSTRUCTIONS_INL_H
#undef PT2_KERNELS_TILE_INSTRUCTIONS_INL_H
#else
#define PT2_KERNELS_TILE_INSTRUCTIONS_INL_H
#endif

#include <algorithm>

#include "kernels/dtypes/tile_elements-inl.h"
#include "kernels/pointwise-inl.h"
#include "kernels/tiles.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

// An operand of one tile: contiguous numbers, or one number for all elements.
template <class T>
struct Seen {
  const T* data;
  bool is_number;
};

HWY_NOINLINE void activate_doubles(Activation activation, const double* from, double* to,
                                   int64_t count) {
  const auto map = [&](const auto& f) HWY_ATTR { map_span(from, to, count, f); };
  switch (activation) {
    case Activation::none:
      return map([](VD x) HWY_ATTR { return x; });
    case Activation::relu:
      return map([](VD x) HWY_ATTR { return relu(x); });
    case Activation::relu6:
      return map([](VD x) HWY_ATTR { return relu6(x); });
    case Activation::sigmoid:
      return map([](VD x) HWY_ATTR { return sigmoid(x); });
    case Activation::tanh:
      return map([](VD x) HWY_ATTR { return tanh(x); });
    case Activation::silu:
      return map([](VD x) HWY_ATTR { return silu(x); });
    case Activation::gelu:
      return map([](VD x) HWY_ATTR { return gelu(x); });
    case Activation::gelu_tanh:
      return map([](VD x) HWY_ATTR { return gelu_tanh(x); });
    case Activation::hardsigmoid:
      return map([](VD x) HWY_ATTR { return hardsigmoid(x); });
    case Activation::hardswish:
      return map([](VD x) HWY_ATTR { return hardswish(x); });
  }
}

// Numbers that are widened to double at a time.
constexpr int64_t kWidened = 64;

using TileFunction = decltype(TileInstruction::function);

void apply_to(const TileFunction& function, const double* from, double* to, int64_t count) {
  if (const auto* activation = std::get_if<Activation>(&function))
    activate_doubles(*activation, from, to, count);
  else
    apply_unary(*std::get_if<Unary>(&function), from, to, count);
}
void apply_to(const TileFunction& function, const float* from, float* to, int64_t count) {
  if (const auto* activation = std::get_if<Activation>(&function))
    return activate_span(*activation, from, to, count);
  const Unary unary = *std::get_if<Unary>(&function);
  if (!is_of_doubles(unary)) return apply_unary(unary, from, to, count);
  HWY_ALIGN double wide[kWidened];
  for (int64_t begin = 0; begin < count; begin += kWidened) {
    const int64_t part = std::min(kWidened, count - begin);
    for (int64_t i = 0; i < part; ++i) wide[i] = static_cast<double>(from[begin + i]);
    apply_unary(unary, wide, wide, part);
    for (int64_t i = 0; i < part; ++i) to[begin + i] = static_cast<float>(wide[i]);
  }
}

template <class T>
NumberRows<T> row_of(const Seen<T>& seen, int64_t begin = 0) {
  return {seen.is_number ? seen.data : seen.data + begin, 0, seen.is_number ? 0 : 1};
}

HWY_NOINLINE void combine_doubles(Binary function, const NumberRows<double>& a,
                                  const NumberRows<double>& b, double* to, int64_t count) {
  const NumberRowsOut<double> out{to, 0};
  if (function == Binary::hypotenuse)
    return combine_span({0, 0, count}, a, b, out, [](VD x, VD y) HWY_ATTR { return hypot(x, y); });
  if (function == Binary::power)
    return combine_span({0, 0, count}, a, b, out,
                        [](VD x, VD y) HWY_ATTR { return pow_of_each(x, y); });
  combine_rows(function, 0, 0, count, a, b, out);
}
void combine_to(Binary function, const Seen<double>& a, const Seen<double>& b, double* to,
                int64_t count) {
  combine_doubles(function, row_of(a), row_of(b), to, count);
}
void combine_to(Binary function, const Seen<float>& a, const Seen<float>& b, float* to,
                int64_t count) {
  if (!is_of_doubles(function))
    return combine_rows(function, 0, 0, count, row_of(a), row_of(b), RowsOut{to, 0});
  HWY_ALIGN double left[kWidened], right[kWidened];
  for (int64_t begin = 0; begin < count; begin += kWidened) {
    const int64_t part = std::min(kWidened, count - begin);
    const Rows x = row_of(a, begin), y = row_of(b, begin);
    for (int64_t i = 0; i < part; ++i) left[i] = static_cast<double>(x.data[i * x.column_stride]);
    for (int64_t i = 0; i < part; ++i) right[i] = static_cast<double>(y.data[i * y.column_stride]);
    const NumberRows<double> wide_x{left}, wide_y{right};
    if (function == Binary::power)
      combine_span({0, 0, part}, wide_x, wide_y, NumberRowsOut<double>{left, 0},
                   [](VD p, VD q) HWY_ATTR { return pow_of_floats(p, q); });
    else
      combine_doubles(function, wide_x, wide_y, left, part);
    for (int64_t i = 0; i < part; ++i) to[begin + i] = static_cast<float>(left[i]);
  }
}

template <class T, class F>
void combine_three(const Seen<T>& a, const Seen<T>& b, const Seen<T>& c, T* to, int64_t count,
                   const F& function) {
  const RowReader<T> x(row_of(a), 0), y(row_of(b), 0), z(row_of(c), 0);
  int64_t i = 0;
  for (; i + kLanesOf<T> <= count; i += kLanesOf<T>)
    store(function(x.at(i), y.at(i), z.at(i)), to + i);
  const int64_t rest = count - i;
  if (rest > 0)
    store_first(function(x.first(i, rest), y.first(i, rest), z.first(i, rest)), to + i, rest);
}

// As ATen/native/Lerp.h.
template <class T>
void interpolate_to(const Seen<T>& a, const Seen<T>& b, const Seen<T>& c, T* to, int64_t count) {
  const auto one = set(T(1)), half = set(T(0.5));
  combine_three(a, b, c, to, count, [=](auto from, auto end, auto weight) HWY_ATTR {
    const auto way = hn::Sub(end, from);
    const auto near = hn::MulAdd(weight, way, from);
    const auto far = hn::MulAdd(way, hn::Sub(weight, one), end);
    return hn::IfThenElse(hn::Lt(hn::Abs(weight), half), near, far);
  });
}

template <class T>
void run_instruction(const TileInstruction& instruction, const Seen<T>& a, const Seen<T>& b,
                     const Seen<T>& c, T* to, int64_t count) {
  if (const auto* function = std::get_if<Binary>(&instruction.function)) {
    if (instruction.scale != 1)
      add_scaled_rows(static_cast<T>(instruction.scale), 0, 0, count, row_of(a), row_of(b),
                      NumberRowsOut<T>{to, 0});
    else
      combine_to(*function, a, b, to, count);
    return;
  }
  if (const auto* function = std::get_if<Ternary>(&instruction.function)) {
    if (*function == Ternary::interpolate) return interpolate_to(a, b, c, to, count);
    if (*function == Ternary::multiply_add)
      return combine_three(a, b, c, to, count,
                           [](auto p, auto q, auto r) HWY_ATTR { return hn::MulAdd(p, q, r); });
    return combine_three(a, b, c, to, count, [](auto p, auto q, auto r) HWY_ATTR {
      return hn::IfThenElse(is_not_0(r), p, q);
    });
  }
  if (!a.is_number) return apply_to(instruction.function, a.data, to, count);
  T value = 0;
  apply_to(instruction.function, a.data, &value, 1);
  std::fill(to, to + count, value);
}

// Runs all instructions on `count` elements.
template <class T>
void run_tile(std::span<const TileInstruction> instructions, const Seen<T>* operands,
              T (*tiles)[kTileNumbers], T* out, int64_t count) {
  for (const TileInstruction& instruction : instructions) {
    T numbers[3];
    const auto see = [&](const TileSource& source, T& number) -> Seen<T> {
      switch (source.from) {
        case TileSource::From::operand:
          return operands[source.index];
        case TileSource::From::tile:
          return {tiles[source.index], false};
        case TileSource::From::number:
          break;
      }
      number = static_cast<T>(source.number);
      return {&number, true};
    };
    T* to = &instruction == &instructions.back() ? out : tiles[instruction.to];
    run_instruction(instruction, see(instruction.a, numbers[0]), see(instruction.b, numbers[1]),
                    see(instruction.c, numbers[2]), to, count);
    if (instruction.rounding != Rounding::none) round_span(instruction.rounding, to, count);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#endif
