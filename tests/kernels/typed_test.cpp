#include "kernels/dtypes/typed.h"

#include <limits>

#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

using test::Random;

// Of any kind, where `Out` is that of the result.
template <class In, class Out, class Expected>
void check(TypedElement element, TypedFunction function, const Expected& expected) {
  Random random(static_cast<uint32_t>(function) + 1);
  for (int round = 0; round < 60; ++round) {
    TypedLoop loop{.function = function, .element = element};
    int64_t count = 1, reach[2] = {1, 1};
    for (size_t dim = kTypedDims; dim-- > 0;) {
      loop.sizes[dim] = random.whole(round == 0 ? 0 : 1, dim == kTypedDims - 1 ? 40 : 3);
      count *= loop.sizes[dim];
      TypedOperand* operands[] = {&loop.a, &loop.b};
      for (int i = 0; i < 2; ++i) {
        const bool is_broadcast = random.whole(0, 3) == 0;
        operands[i]->strides[dim] = is_broadcast ? 0 : reach[i] + random.whole(0, 1);
        reach[i] += (std::max<int64_t>(loop.sizes[dim], 1) - 1) * operands[i]->strides[dim];
      }
    }
    std::vector<In> a(static_cast<size_t>(reach[0])), b(static_cast<size_t>(reach[1]));
    for (std::vector<In>* values : {&a, &b})
      for (In& value : *values) value = static_cast<In>(random.whole(0, 4)) - In(1);
    if constexpr (std::is_same_v<In, float>) a[0] = NAN;
    if constexpr (std::is_integral_v<In>) a[0] = std::numeric_limits<In>::max();
    std::vector<uint8_t> memory(static_cast<size_t>(count + 1) * sizeof(Out), 7);
    loop.a.data = a.data();
    loop.b.data = b.data();
    loop.out = memory.data();
    ASSERT_TRUE(run_typed(loop));
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, x = 0, y = 0;
      for (size_t dim = kTypedDims; dim-- > 0; rest /= loop.sizes[dim]) {
        x += rest % loop.sizes[dim] * loop.a.strides[dim];
        y += rest % loop.sizes[dim] * loop.b.strides[dim];
      }
      Out found;
      std::memcpy(&found, memory.data() + static_cast<size_t>(i) * sizeof(Out), sizeof(Out));
      ASSERT_EQ(found, expected(a[static_cast<size_t>(x)], b[static_cast<size_t>(y)])) << i;
    }
    EXPECT_EQ(memory.back(), 7);
  }
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
  check_comparisons<int8_t>(TypedElement::small);
  check_comparisons<uint8_t>(TypedElement::byte);
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
