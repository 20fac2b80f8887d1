// Converts elements of any dtype to the numbers of one tile, and back. Included once for each
// target, inside no namespace, by sources that list themselves in HWY_TARGET_INCLUDE.
#if defined(PT2_KERNELS_DTYPES_TILE_ELEMENTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PT2_KERNELS_DTYPES_TILE_ELEMENTS_INL_H
#undef PT2_KERNELS_DTYPES_TILE_ELEMENTS_INL_H
#else
#define PT2_KERNELS_DTYPES_TILE_ELEMENTS_INL_H
#endif

#include <limits>
#include <type_traits>

#include "kernels/dtypes/halves.h"
#include "kernels/tiles.h"
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

constexpr int64_t kTileNumbers = 512;

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

// Numbers out of range, whose conversion is undefined in C++, give the result of x86's
// instructions.
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
    case TileElement::byte: {
      // PyTorch converts numbers to uint8 through int64 (static_cast_with_inter_type in
      // c10/util/TypeCast.h). It makes no difference for floats: one of 2^31 or more is a multiple
      // of 256.
      using Middle = std::conditional_t<std::is_same_v<T, double>, int64_t, int32_t>;
      return store_as(static_cast<uint8_t*>(nullptr),
                      [](T number) { return static_cast<uint64_t>(to_whole<Middle>(number)); });
    }
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

// Only floats are rounded: a program in double rounds when it stores the result.
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

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#endif
