#include "kernels/tiles.h"

#include <algorithm>
#include <limits>

#include "kernels/dtypes/halves.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/tiles.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/pointwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

constexpr int64_t kTileNumbers = 512;

// An operand for the numbers of one tile: all of them side by side, or one for all.
template <class T>
struct Seen {
  const T* data;
  bool is_number;
};

HWY_NOINLINE void apply_unary_of_doubles(Unary function, const double* from, double* to,
                                         int64_t count) {
  const auto map = [&](const auto& f) HWY_ATTR { map_span(from, to, count, f); };
  const VD one = set(1.0);
  switch (function) {
    case Unary::negate:
      return map([](VD x) HWY_ATTR { return hn::Neg(x); });
    case Unary::absolute:
      return map([](VD x) HWY_ATTR { return hn::Abs(x); });
    case Unary::square:
      return map([](VD x) HWY_ATTR { return hn::Mul(x, x); });
    case Unary::square_root:
      return map([](VD x) HWY_ATTR { return hn::Sqrt(x); });
    case Unary::reciprocal_square_root:
      return map([one](VD x) HWY_ATTR { return hn::Div(one, hn::Sqrt(x)); });
    case Unary::reciprocal:
      return map([one](VD x) HWY_ATTR { return hn::Div(one, x); });
    case Unary::exponential:
      return map([](VD x) HWY_ATTR { return exp(x); });
    case Unary::exponential_minus_1:
      return map([](VD x) HWY_ATTR { return expm1(x); });
    case Unary::logarithm:
      return map([](VD x) HWY_ATTR { return log(x); });
    case Unary::logarithm_of_1_plus:
      return map([](VD x) HWY_ATTR { return log1p(x); });
    case Unary::softplus:
      return map([](VD x) HWY_ATTR { return softplus(x); });
    case Unary::logarithm_2:
      return map([](VD x) HWY_ATTR { return log2(x); });
    case Unary::logarithm_10:
      return map([](VD x) HWY_ATTR { return log10(x); });
    case Unary::sine:
      return map([](VD x) HWY_ATTR { return sin(x); });
    case Unary::cosine:
      return map([](VD x) HWY_ATTR { return cos(x); });
    case Unary::floor:
      return map([](VD x) HWY_ATTR { return hn::Floor(x); });
    case Unary::ceiling:
      return map([](VD x) HWY_ATTR { return hn::Ceil(x); });
    case Unary::round:
      return map([](VD x) HWY_ATTR { return hn::Round(x); });
    case Unary::truncate:
      return map([](VD x) HWY_ATTR { return hn::Trunc(x); });
    case Unary::sign:
      return map([](VD x) HWY_ATTR { return sign(x); });
    case Unary::arctangent:
      return map([](VD x) HWY_ATTR { return atan(x); });
    case Unary::error_function:
      return map([](VD x) HWY_ATTR { return erf(x); });
    case Unary::fraction:
      return map([](VD x) HWY_ATTR { return hn::Sub(x, hn::Trunc(x)); });
    case Unary::exponential_2:
      return map([](VD x) HWY_ATTR { return exp2(x); });
    case Unary::tangent:
      return map([](VD x) HWY_ATTR { return tan(x); });
    case Unary::arcsine:
      return map([](VD x) HWY_ATTR { return asin(x); });
    case Unary::arccosine:
      return map([](VD x) HWY_ATTR { return acos(x); });
    case Unary::hyperbolic_sine:
      return map([](VD x) HWY_ATTR { return sinh(x); });
    case Unary::hyperbolic_cosine:
      return map([](VD x) HWY_ATTR { return cosh(x); });
    case Unary::inverse_hyperbolic_sine:
      return map([](VD x) HWY_ATTR { return asinh(x); });
    case Unary::inverse_hyperbolic_cosine:
      return map([](VD x) HWY_ATTR { return acosh(x); });
    case Unary::inverse_hyperbolic_tangent:
      return map([](VD x) HWY_ATTR { return atanh(x); });
    case Unary::error_function_complement:
      return map([](VD x) HWY_ATTR { return erfc(x); });
    case Unary::inverse_error_function:
      return map([](VD x) HWY_ATTR { return erfinv(x); });
    case Unary::logarithm_of_gamma:
      return map([](VD x) HWY_ATTR { return lgamma_of_floats(x); });
  }
}

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

// Some numbers at a time as doubles.
constexpr int64_t kWidened = 64;

using TileFunction = decltype(TileInstruction::function);

void apply_to(const TileFunction& function, const double* from, double* to, int64_t count) {
  if (const auto* activation = std::get_if<Activation>(&function))
    activate_doubles(*activation, from, to, count);
  else
    apply_unary_of_doubles(*std::get_if<Unary>(&function), from, to, count);
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
    apply_unary_of_doubles(unary, wide, wide, part);
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

// ATen/native/Lerp.h.
template <class T>
void interpolate_to(const Seen<T>& a, const Seen<T>& b, const Seen<T>& c, T* to, int64_t count) {
  const auto one = set(T(1)), half = set(T(0.5));
  combine_three(a, b, c, to, count, [=](auto from, auto end, auto weight) HWY_ATTR {
    const auto way = hn::Sub(end, from);
    const auto near = hn::Add(from, hn::Mul(weight, way));
    const auto far = hn::Sub(end, hn::Mul(way, hn::Sub(one, weight)));
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
    return combine_three(a, b, c, to, count, [](auto p, auto q, auto r) HWY_ATTR {
      return hn::IfThenElse(is_not_0(r), p, q);
    });
  }
  if (!a.is_number) return apply_to(instruction.function, a.data, to, count);
  T value = 0;
  apply_to(instruction.function, a.data, &value, 1);
  std::fill(to, to + count, value);
}

template <class Element, class T>
void convert_to_numbers(const void* from, int64_t begin, int64_t count, T* HWY_RESTRICT to) {
  const Element* HWY_RESTRICT elements = static_cast<const Element*>(from) + begin;
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(elements[i]);
}
void load_halves(void (*widen)(const uint16_t*, int64_t, float*), const uint16_t* from,
                 int64_t count, float* to) {
  widen(from, count, to);
}
void load_halves(void (*widen)(const uint16_t*, int64_t, float*), const uint16_t* from,
                 int64_t count, double* to) {
  float floats[kTileNumbers];
  widen(from, count, floats);
  convert_to_numbers<float>(floats, 0, count, to);
}

template <class T>
void load_numbers(TileElement element, const void* from, int64_t begin, int64_t count, T* to) {
  switch (element) {
    case TileElement::real:
      return convert_to_numbers<float>(from, begin, count, to);
    case TileElement::half:
      return load_halves(half_to_float, static_cast<const uint16_t*>(from) + begin, count, to);
    case TileElement::bfloat16:
      return load_halves(bfloat16_to_float, static_cast<const uint16_t*>(from) + begin, count, to);
    case TileElement::boolean:
    case TileElement::byte:
      return convert_to_numbers<uint8_t>(from, begin, count, to);
    case TileElement::small:
      return convert_to_numbers<int8_t>(from, begin, count, to);
    case TileElement::narrow:
      return convert_to_numbers<int16_t>(from, begin, count, to);
    case TileElement::medium:
      return convert_to_numbers<int32_t>(from, begin, count, to);
    case TileElement::whole:
      return convert_to_numbers<int64_t>(from, begin, count, to);
    case TileElement::twice:
      return convert_to_numbers<double>(from, begin, count, to);
  }
}

// Beyond the range, the number that x86's instructions give; no conversion is defined there.
template <class Whole, class T>
Whole to_whole(T number) {
  constexpr T kBound = static_cast<T>(sizeof(Whole) == 8 ? 0x1p63 : 0x1p31);
  const bool fits = number > -kBound - 1 && number < kBound;
  return fits ? static_cast<Whole>(number) : std::numeric_limits<Whole>::min();
}

template <class T>
void store_numbers(TileElement element, const T* HWY_RESTRICT from, int64_t count, void* to,
                   int64_t begin) {
  const auto store_as = [&]<class Element>(Element*, const auto& convert) {
    Element* HWY_RESTRICT elements = static_cast<Element*>(to) + begin;
    for (int64_t i = 0; i < count; ++i) elements[i] = static_cast<Element>(convert(from[i]));
  };
  switch (element) {
    case TileElement::half:
    case TileElement::bfloat16: {
      auto* halves = static_cast<uint16_t*>(to) + begin;
      float floats[kTileNumbers];
      for (int64_t i = 0; i < count; ++i) floats[i] = static_cast<float>(from[i]);
      return element == TileElement::half ? float_to_half(floats, count, halves)
                                          : float_to_bfloat16(floats, count, halves);
    }
    case TileElement::boolean:
      return store_as(static_cast<uint8_t*>(nullptr), [](T number) { return number != 0; });
    case TileElement::byte:
    case TileElement::small:
      return store_as(static_cast<uint8_t*>(nullptr),
                      [](T number) { return static_cast<uint32_t>(to_whole<int32_t>(number)); });
    case TileElement::narrow:
      return store_as(static_cast<uint16_t*>(nullptr),
                      [](T number) { return static_cast<uint32_t>(to_whole<int32_t>(number)); });
    case TileElement::medium:
      return store_as(static_cast<int32_t*>(nullptr),
                      [](T number) { return to_whole<int32_t>(number); });
    case TileElement::whole:
      return store_as(static_cast<int64_t*>(nullptr),
                      [](T number) { return to_whole<int64_t>(number); });
    case TileElement::real:
      return store_as(static_cast<float*>(nullptr), [](T number) { return number; });
    case TileElement::twice:
      return store_as(static_cast<double*>(nullptr), [](T number) { return number; });
  }
}

// Of floats alone: a program in double rounds what it stores.
void round_span(Rounding, double*, int64_t) {}
void round_span(Rounding rounding, float* numbers, int64_t count) {
  uint16_t halves[kTileNumbers];
  if (rounding == Rounding::half) {
    float_to_half(numbers, count, halves);
    half_to_float(halves, count, numbers);
  } else if (rounding == Rounding::bfloat16) {
    float_to_bfloat16(numbers, count, halves);
    bfloat16_to_float(halves, count, numbers);
  }
}

// All instructions on `count` elements.
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

// How an operand is read.
enum class Access : uint8_t {
  flat,    // as the result lies
  number,  // one element for all
  rows,    // otherwise
};

Access access_of(const TileProgram& program, const TileOperand& operand) {
  bool is_flat = true, is_number = true;
  int64_t stride = 1;
  for (int dim = kTileDims; dim-- > 0;) {
    const auto d = static_cast<size_t>(dim);
    if (program.sizes[d] == 1) continue;
    is_flat = is_flat && operand.strides[d] == stride;
    is_number = is_number && operand.strides[d] == 0;
    stride *= program.sizes[d];
  }
  return is_number ? Access::number : is_flat ? Access::flat : Access::rows;
}

// Where a row is, all dimensions but the last one counted as one, and how one goes on.
class RowPlace {
 public:
  RowPlace(const TileProgram& program, const TileOperand& operand, int64_t row)
      : sizes_(program.sizes), strides_(operand.strides) {
    for (size_t dim = kTileDims - 1; dim-- > 0;) {
      index_[dim] = row % sizes_[dim];
      offset_ += index_[dim] * strides_[dim];
      row /= sizes_[dim];
    }
  }
  // In elements.
  int64_t offset() const { return offset_; }
  // The rows from here on that lie evenly apart, this one among them.
  int64_t even_rows() const { return sizes_[kInner] - index_[kInner]; }
  int64_t distance() const { return strides_[kInner]; }
  // At most to the end of the even rows.
  void skip(int64_t rows) {
    index_[kInner] += rows;
    offset_ += rows * strides_[kInner];
    for (size_t dim = kInner; dim > 0 && index_[dim] == sizes_[dim]; --dim) {
      offset_ += strides_[dim - 1] - sizes_[dim] * strides_[dim];
      index_[dim] = 0;
      ++index_[dim - 1];
    }
  }

 private:
  static constexpr size_t kInner = kTileDims - 2;
  const TileSizes& sizes_;
  const TileSizes& strides_;
  int64_t offset_ = 0;
  TileSizes index_{};
};

// `rows` rows of kCount numbers, `distance` apart, to rows side by side: where there are few, a
// call for each row would cost more than the row (points, boxes, heads).
template <int64_t kCount, class T>
void gather_short_rows(const T* from, int64_t distance, int64_t rows, bool is_wide, T* to) {
  for (int64_t r = 0; r < rows; ++r, from += distance, to += kCount)
    for (int64_t i = 0; i < kCount; ++i) to[i] = from[is_wide ? i : 0];
}

template <class T>
void gather_even_rows(const T* from, int64_t distance, int64_t rows, int64_t count, bool is_wide,
                      T* to) {
  switch (count) {
    case 2:
      return gather_short_rows<2>(from, distance, rows, is_wide, to);
    case 3:
      return gather_short_rows<3>(from, distance, rows, is_wide, to);
    case 4:
      return gather_short_rows<4>(from, distance, rows, is_wide, to);
    case 8:
      return gather_short_rows<8>(from, distance, rows, is_wide, to);
    default:
      for (int64_t r = 0; r < rows; ++r, from += distance, to += count)
        if (is_wide)
          std::copy(from, from + count, to);
        else
          std::fill(to, to + count, *from);
  }
}

// The numbers of a type as they lie in memory.
template <class T>
constexpr TileElement kElementOf = sizeof(T) == 8 ? TileElement::twice : TileElement::real;

template <class T>
class TilePass {
 public:
  explicit TilePass(const TileProgram& program) : program_(program) {
    for (size_t i = 0; i < program.operands.size(); ++i) {
      access_[i] = access_of(program, program.operands[i]);
      if (access_[i] == Access::number) see_number(i, 0);
    }
  }

  // Columns begin .. end - 1 of some rows; all columns if there is more than one row.
  void run(int64_t first_row, int64_t rows, int64_t begin, int64_t end) {
    Seen<T> seen[kMostTileOperands];
    for (size_t i = 0; i < program_.operands.size(); ++i)
      seen[i] = see(i, first_row, rows, begin, end - begin);
    const int64_t place = first_row * program_.sizes.back() + begin, count = rows * (end - begin);
    if (program_.out_element == kElementOf<T>) {
      run_tile(program_.instructions, seen, tiles_, static_cast<T*>(program_.out) + place, count);
    } else {
      run_tile(program_.instructions, seen, tiles_, result_, count);
      store_numbers(program_.out_element, result_, count, program_.out, place);
    }
  }

 private:
  Seen<T> see_number(size_t index, int64_t offset) {
    const TileOperand& operand = program_.operands[index];
    load_numbers(operand.element, operand.data, offset, 1, &numbers_[index]);
    return {&numbers_[index], true};
  }

  Seen<T> see_side_by_side(size_t index, int64_t offset, int64_t count) {
    const TileOperand& operand = program_.operands[index];
    if (operand.element == kElementOf<T>)
      return {static_cast<const T*>(operand.data) + offset, false};
    load_numbers(operand.element, operand.data, offset, count, gathered_[index]);
    return {gathered_[index], false};
  }

  Seen<T> see(size_t index, int64_t first_row, int64_t rows, int64_t begin, int64_t count) {
    const TileOperand& operand = program_.operands[index];
    if (access_[index] == Access::number) return {&numbers_[index], true};
    if (access_[index] == Access::flat)
      return see_side_by_side(index, first_row * program_.sizes.back() + begin, rows * count);
    const bool is_wide = operand.strides.back() == 1 && program_.sizes.back() > 1;
    RowPlace place(program_, operand, first_row);
    if (rows == 1)
      return is_wide ? see_side_by_side(index, place.offset() + begin, count)
                     : see_number(index, place.offset());
    for (int64_t row = 0; row < rows;) {
      const int64_t even = std::min(place.even_rows(), rows - row);
      T* to = gathered_[index] + row * count;
      if (operand.element == kElementOf<T>)
        gather_even_rows(static_cast<const T*>(operand.data) + place.offset(), place.distance(),
                         even, count, is_wide, to);
      else
        load_even_rows(operand, place, even, count, is_wide, to);
      place.skip(even);
      row += even;
    }
    return {gathered_[index], false};
  }

  static void load_even_rows(const TileOperand& operand, const RowPlace& place, int64_t rows,
                             int64_t count, bool is_wide, T* to) {
    for (int64_t r = 0; r < rows; ++r, to += count) {
      load_numbers(operand.element, operand.data, place.offset() + r * place.distance(),
                   is_wide ? count : 1, to);
      if (!is_wide) std::fill(to + 1, to + count, *to);
    }
  }

  const TileProgram& program_;
  Access access_[kMostTileOperands] = {};
  T numbers_[kMostTileOperands] = {};
  HWY_ALIGN T tiles_[kMostTiles][kTileNumbers];
  HWY_ALIGN T gathered_[kMostTileOperands][kTileNumbers];
  HWY_ALIGN T result_[kTileNumbers];
};

template <class T>
void run_tiles_of(const TileProgram& program, ThreadPool* pool) {
  const int64_t columns = program.sizes.back();
  int64_t rows = 1;
  for (size_t dim = 0; dim + 1 < kTileDims; ++dim) rows *= program.sizes[dim];
  if (rows <= 0 || columns <= 0) return;
  // A task is some tiles, a tile some rows or a part of one.
  constexpr int64_t kTaskFloats = int64_t{1} << 13;
  constexpr int64_t kParallelFloats = int64_t{1} << 15;
  const int64_t rows_at_once = std::max<int64_t>(1, kTileNumbers / columns);
  const int64_t parts = (columns + kTileNumbers - 1) / kTileNumbers;
  const int64_t tiles = (rows + rows_at_once - 1) / rows_at_once * parts;
  const int64_t tasks = std::clamp<int64_t>(rows * columns / kTaskFloats, 1, tiles);
  run_tasks(rows * columns >= kParallelFloats ? pool : nullptr, tasks, [&](int64_t task, int) {
    TilePass<T> pass(program);
    const int64_t last = part_begin(tiles, tasks, task + 1);
    for (int64_t tile = part_begin(tiles, tasks, task); tile < last; ++tile) {
      const int64_t row = tile / parts * rows_at_once, begin = tile % parts * kTileNumbers;
      pass.run(row, std::min(rows_at_once, rows - row), begin,
               std::min(columns, begin + kTileNumbers));
    }
  });
}

void run_all_tiles(const TileProgram& program, ThreadPool* pool) {
  const bool is_of_doubles = program.out_element == TileElement::twice ||
                             std::ranges::any_of(program.operands, [](const TileOperand& operand) {
                               return operand.element == TileElement::twice;
                             });
  is_of_doubles ? run_tiles_of<double>(program, pool) : run_tiles_of<float>(program, pool);
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(run_all_tiles);

void run_tiles(const TileProgram& program, ThreadPool* pool) {
  PT2_DISPATCH(run_all_tiles)(program, pool);
}

}  // namespace pt2::kernels
#endif
