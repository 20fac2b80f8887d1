#include "kernels/dtypes/typed.h"

#include <limits>

#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

using test::Random;

// Random sizes and strides of the operands. The first round may have sizes of 0, the second has
// only sizes of 1.
struct Case {
  static constexpr size_t kMost = 3;
  std::array<int64_t, kTypedDims> sizes{};
  std::array<std::array<int64_t, kTypedDims>, kMost> strides{};
  std::array<int64_t, kMost> reach{1, 1, 1};
  int64_t count = 1;

  Case(Random& random, int round) {
    for (size_t dim = kTypedDims; dim-- > 0;) {
      // Sometimes the innermost dimension is longer than one block of the kernel.
      const int64_t most = dim < kTypedDims - 1 ? 3 : round % 8 == 7 ? 3000 : 40;
      sizes[dim] = round == 1 ? 1 : random.whole(round == 0 ? 0 : 1, most);
      count *= sizes[dim];
      for (size_t i = 0; i < kMost; ++i) {
        // Sometimes the second operand is a scalar.
        const bool is_broadcast = (i == 1 && round % 8 == 5) || random.whole(0, 3) == 0;
        strides[i][dim] = is_broadcast ? 0 : reach[i] + random.whole(0, 1);
        reach[i] += (std::max<int64_t>(sizes[dim], 1) - 1) * strides[i][dim];
      }
    }
  }
  size_t place(size_t operand, int64_t element) const {
    int64_t out = 0;
    for (size_t dim = kTypedDims; dim-- > 0; element /= sizes[dim])
      out += element % sizes[dim] * strides[operand][dim];
    return static_cast<size_t>(out);
  }
};

// Returns small numbers and, for integers, numbers of random bits.
template <class In>
std::vector<In> random_numbers(Random& random, int64_t count) {
  std::vector<In> out(static_cast<size_t>(count));
  for (In& value : out) {
    value = static_cast<In>(random.whole(0, 4)) - In(1);
    if constexpr (std::is_integral_v<In>)
      if (random.whole(0, 2) == 0)
        value =
            static_cast<In>(static_cast<uint64_t>(random.whole(0, INT32_MAX)) * 0x9e3779b97f4a7c15);
  }
  if constexpr (std::is_same_v<In, float>) out[0] = NAN;
  if constexpr (std::is_integral_v<In>)
    out[0] =
        random.whole(0, 1) == 0 ? std::numeric_limits<In>::max() : std::numeric_limits<In>::min();
  return out;
}

// Checks a function of three operands of type `In`, with results of type `Out`.
template <class In, class Out, class Expected>
void check_of_three(TypedElement element, TypedFunction function, const Expected& expected) {
  Random random(static_cast<uint32_t>(function) + 1);
  for (int round = 0; round < 60; ++round) {
    const Case place(random, round);
    TypedLoop loop{.function = function, .element = element, .sizes = place.sizes};
    TypedOperand* const operands[] = {&loop.a, &loop.b, &loop.c};
    std::vector<std::vector<In>> numbers;
    for (size_t i = 0; i < Case::kMost; ++i) {
      numbers.push_back(random_numbers<In>(random, place.reach[i]));
      *operands[i] = {numbers[i].data(), place.strides[i]};
    }
    std::vector<uint8_t> memory(static_cast<size_t>(place.count + 1) * sizeof(Out), 7);
    loop.out = memory.data();
    ASSERT_TRUE(run_typed(loop));
    for (int64_t i = 0; i < place.count; ++i) {
      Out found;
      std::memcpy(&found, memory.data() + static_cast<size_t>(i) * sizeof(Out), sizeof(Out));
      ASSERT_EQ(found, expected(numbers[0][place.place(0, i)], numbers[1][place.place(1, i)],
                                numbers[2][place.place(2, i)]))
          << i;
    }
    EXPECT_EQ(memory.back(), 7);
  }
}
template <class In, class Out, class Expected>
void check(TypedElement element, TypedFunction function, const Expected& expected) {
  check_of_three<In, Out>(element, function, [&](In a, In b, In) { return expected(a, b); });
}

template <class In>
void check_comparisons(TypedElement element) {
  using enum TypedFunction;
  check<In, bool>(element, less, [](In a, In b) { return a < b; });
  check<In, bool>(element, less_equal, [](In a, In b) { return a <= b; });
  check<In, bool>(element, greater, [](In a, In b) { return a > b; });
  check<In, bool>(element, greater_equal, [](In a, In b) { return a >= b; });
  check<In, bool>(element, equal, [](In a, In b) { return a == b; });
  check<In, bool>(element, not_equal, [](In a, In b) { return a != b; });
}

TEST(Typed, NumbersAreCompared) {
  check_comparisons<float>(TypedElement::real);
  check_comparisons<int64_t>(TypedElement::whole);
  check_comparisons<int32_t>(TypedElement::medium);
  check_comparisons<int16_t>(TypedElement::narrow);
  check_comparisons<int8_t>(TypedElement::small);
  check_comparisons<uint8_t>(TypedElement::byte);
}

// Any byte but 0 is true.
TEST(Typed, TruthsAreCompared) {
  using enum TypedFunction;
  constexpr TypedElement kElement = TypedElement::boolean;
  using Byte = uint8_t;
  check<Byte, bool>(kElement, less, [](Byte a, Byte b) { return a == 0 && b != 0; });
  check<Byte, bool>(kElement, less_equal, [](Byte a, Byte b) { return a == 0 || b != 0; });
  check<Byte, bool>(kElement, greater, [](Byte a, Byte b) { return a != 0 && b == 0; });
  check<Byte, bool>(kElement, greater_equal, [](Byte a, Byte b) { return a != 0 || b == 0; });
  check<Byte, bool>(kElement, equal, [](Byte a, Byte b) { return (a != 0) == (b != 0); });
  check<Byte, bool>(kElement, not_equal, [](Byte a, Byte b) { return (a != 0) != (b != 0); });
}

template <class T>
void check_choices_and_bits(TypedElement element) {
  using enum TypedFunction;
  check<T, T>(element, smaller, [](T a, T b) { return std::min(a, b); });
  check<T, T>(element, larger, [](T a, T b) { return std::max(a, b); });
  check<T, T>(element, common_bits, [](T a, T b) { return static_cast<T>(a & b); });
  check<T, T>(element, any_bits, [](T a, T b) { return static_cast<T>(a | b); });
  check<T, T>(element, different_bits, [](T a, T b) { return static_cast<T>(a ^ b); });
}

TEST(Typed, WholeNumbersAreChosenAndTheirBits) {
  check_choices_and_bits<int64_t>(TypedElement::whole);
  check_choices_and_bits<int32_t>(TypedElement::medium);
  check_choices_and_bits<int16_t>(TypedElement::narrow);
  check_choices_and_bits<int8_t>(TypedElement::small);
  check_choices_and_bits<uint8_t>(TypedElement::byte);
}

TEST(Typed, WholeNumbersWrapAround) {
  using enum TypedFunction;
  const auto wrapped = [](auto function) {
    return [function](int64_t a, int64_t b) {
      return static_cast<int64_t>(function(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
    };
  };
  check<int64_t, int64_t>(TypedElement::whole, add, wrapped(std::plus<uint64_t>()));
  check<int64_t, int64_t>(TypedElement::whole, subtract, wrapped(std::minus<uint64_t>()));
  check<int64_t, int64_t>(TypedElement::whole, multiply, wrapped(std::multiplies<uint64_t>()));
}

// Checks operators of one integer type. int64_t is wide enough for intermediates of narrower types.
template <class T>
void check_order_and_shifts(TypedElement element) {
  using enum TypedFunction;
  constexpr int64_t kBits = 8 * sizeof(T);
  const auto is_count = [](T by) { return by >= T(0) && static_cast<int64_t>(by) < kBits; };
  check<T, T>(element, subtract_from, [](T a, T b) {
    return static_cast<T>(static_cast<uint64_t>(b) - static_cast<uint64_t>(a));
  });
  check<T, T>(element, order, [](T a, T b) { return static_cast<T>(a < b ? -1 : a > b ? 1 : 0); });
  check<T, T>(element, magnitude,
              [](T a, T) { return a < T(0) ? static_cast<T>(-static_cast<uint64_t>(a)) : a; });
  check<T, T>(element, shift_left, [&](T a, T by) {
    return is_count(by) ? static_cast<T>(static_cast<uint64_t>(a) << by) : T(0);
  });
  check<T, T>(element, shift_right, [&](T a, T by) {
    return is_count(by) ? static_cast<T>(a >> by) : static_cast<T>(a < T(0) ? -1 : 0);
  });
  check_of_three<T, T>(element, between,
                       [](T x, T low, T high) { return std::min(std::max(x, low), high); });
  check<T, bool>(element, both, [](T a, T b) { return a != 0 && b != 0; });
  check<T, bool>(element, either, [](T a, T b) { return a != 0 || b != 0; });
  check<T, bool>(element, one_alone, [](T a, T b) { return (a != 0) != (b != 0); });
  check<T, bool>(element, negated, [](T a, T) { return a == 0; });
}

TEST(Typed, WholeNumbersAreOrderedShiftedAndTrue) {
  check_order_and_shifts<int64_t>(TypedElement::whole);
  check_order_and_shifts<int32_t>(TypedElement::medium);
  check_order_and_shifts<int16_t>(TypedElement::narrow);
  check_order_and_shifts<int8_t>(TypedElement::small);
  check_order_and_shifts<uint8_t>(TypedElement::byte);
}

template <class From, class To>
void check_conversion(TypedElement from, TypedElement to) {
  Random random(static_cast<uint32_t>(from) * 8 + static_cast<uint32_t>(to) + 1);
  for (int round = 0; round < 40; ++round) {
    const Case place(random, round);
    const std::vector<From> numbers = random_numbers<From>(random, place.reach[0]);
    std::vector<uint8_t> memory(static_cast<size_t>(place.count + 1) * sizeof(To), 7);
    run_conversion({.from = from,
                    .to = to,
                    .sizes = place.sizes,
                    .operand = {numbers.data(), place.strides[0]},
                    .out = memory.data()});
    for (int64_t i = 0; i < place.count; ++i) {
      const From number = numbers[place.place(0, i)];
      To found;
      std::memcpy(&found, memory.data() + static_cast<size_t>(i) * sizeof(To), sizeof(To));
      const bool is_truth = from == TypedElement::boolean || to == TypedElement::boolean;
      ASSERT_EQ(found, is_truth ? static_cast<To>(number != 0) : static_cast<To>(number)) << i;
    }
    EXPECT_EQ(memory.back(), 7);
  }
}
template <class From>
void check_conversions(TypedElement from) {
  check_conversion<From, uint8_t>(from, TypedElement::boolean);
  check_conversion<From, int8_t>(from, TypedElement::small);
  check_conversion<From, uint8_t>(from, TypedElement::byte);
  check_conversion<From, int32_t>(from, TypedElement::medium);
  check_conversion<From, int16_t>(from, TypedElement::narrow);
  check_conversion<From, int64_t>(from, TypedElement::whole);
}

TEST(Typed, WholeNumbersBecomeOthers) {
  check_conversions<uint8_t>(TypedElement::boolean);
  check_conversions<int8_t>(TypedElement::small);
  check_conversions<uint8_t>(TypedElement::byte);
  check_conversions<int32_t>(TypedElement::medium);
  check_conversions<int16_t>(TypedElement::narrow);
  check_conversions<int64_t>(TypedElement::whole);
}

template <class Element>
void check_short_numbers(TypedElement element) {
  using enum TypedFunction;
  const auto wrapped = [](auto function) {
    return [function](Element a, Element b) {
      return static_cast<Element>(function(int64_t{a}, int64_t{b}));
    };
  };
  check<Element, Element>(element, add, wrapped(std::plus<int64_t>()));
  check<Element, Element>(element, subtract, wrapped(std::minus<int64_t>()));
  check<Element, Element>(element, multiply, wrapped(std::multiplies<int64_t>()));
}

TEST(Typed, ShortNumbersWrapAroundAtTheirOwnSize) {
  check_short_numbers<int32_t>(TypedElement::medium);
  check_short_numbers<int16_t>(TypedElement::narrow);
  check_short_numbers<int8_t>(TypedElement::small);
  check_short_numbers<uint8_t>(TypedElement::byte);
  check_comparisons<int32_t>(TypedElement::medium);
}

// Any byte but 0 is true.
TEST(Typed, BoolsAreCombined) {
  using enum TypedFunction;
  using U = uint8_t;
  check<U, bool>(TypedElement::boolean, both, [](U a, U b) { return a != 0 && b != 0; });
  check<U, bool>(TypedElement::boolean, either, [](U a, U b) { return a != 0 || b != 0; });
  check<U, bool>(TypedElement::boolean, one_alone, [](U a, U b) { return (a != 0) != (b != 0); });
  check<U, bool>(TypedElement::boolean, negated, [](U a, U) { return a == 0; });
}

template <class Element>
void check_choices() {
  Random random(9);
  for (int round = 0; round < 60; ++round) {
    TypedChoice choice{.bytes = sizeof(Element)};
    int64_t count = 1, reach[3] = {1, 1, 1};
    TypedOperand* const operands[] = {&choice.mask, &choice.a, &choice.b};
    for (size_t dim = kTypedDims; dim-- > 0;) {
      choice.sizes[dim] = random.whole(1, dim == kTypedDims - 1 ? 40 : 3);
      count *= choice.sizes[dim];
      for (int i = 0; i < 3; ++i) {
        operands[i]->strides[dim] = random.whole(0, 2) == 0 ? 0 : reach[i] + random.whole(0, 1);
        reach[i] += (choice.sizes[dim] - 1) * operands[i]->strides[dim];
      }
    }
    std::vector<uint8_t> mask(static_cast<size_t>(reach[0]));
    for (uint8_t& flag : mask) flag = static_cast<uint8_t>(random.whole(0, 2));
    std::vector<Element> a(static_cast<size_t>(reach[1])), b(static_cast<size_t>(reach[2]));
    for (Element& value : a) value = static_cast<Element>(random.whole(0, 99));
    for (Element& value : b) value = static_cast<Element>(random.whole(100, 199));
    std::vector<Element> out(static_cast<size_t>(count) + 1, 7);
    choice.mask.data = mask.data();
    choice.a.data = a.data();
    choice.b.data = b.data();
    choice.out = out.data();
    run_choice(choice);
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i;
      size_t place[3] = {};
      for (size_t dim = kTypedDims; dim-- > 0; rest /= choice.sizes[dim])
        for (int k = 0; k < 3; ++k)
          place[k] += static_cast<size_t>(rest % choice.sizes[dim] * operands[k]->strides[dim]);
      ASSERT_EQ(out[static_cast<size_t>(i)], mask[place[0]] != 0 ? a[place[1]] : b[place[2]]) << i;
    }
    EXPECT_EQ(out.back(), Element(7));
  }
}

TEST(Typed, ElementsAreChosenByAMask) {
  check_choices<uint8_t>();
  check_choices<uint16_t>();
  check_choices<uint32_t>();
  check_choices<uint64_t>();
}

TEST(Typed, OtherElementsAreRefused) {
  const float number = 1;
  bool out = false;
  for (const TypedFunction function : {TypedFunction::add, TypedFunction::both}) {
    TypedLoop loop{.function = function, .element = TypedElement::real};
    loop.a.data = loop.b.data = &number;
    loop.out = &out;
    EXPECT_FALSE(run_typed(loop));
  }
}

}  // namespace
}  // namespace pt2::kernels
