#include "kernels/dtypes/typed.h"

#include <functional>

namespace pt2::kernels {
namespace {

// Visits the rows of the innermost dimension in their order, by their place along the others.
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

// Rows whose elements lie side by side, or are one for all, become vectors.
template <class In, class Out, class Function>
void run_row(const In* a, int64_t a_stride, const In* b, int64_t b_stride, Out* out, int64_t count,
             const Function& function) {
  if (a_stride == 1 && b_stride == 1)
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<Out>(function(a[i], b[i]));
  else if (a_stride == 1 && b_stride == 0)
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<Out>(function(a[i], *b));
  else if (a_stride == 0 && b_stride == 1)
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<Out>(function(*a, b[i]));
  else
    for (int64_t i = 0; i < count; ++i)
      out[i] = static_cast<Out>(function(a[i * a_stride], b[i * b_stride]));
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

template <class In>
bool compare(const TypedLoop& loop) {
  switch (loop.function) {
    case TypedFunction::less:
      return run<In, bool>(loop, std::less<In>());
    case TypedFunction::less_equal:
      return run<In, bool>(loop, std::less_equal<In>());
    case TypedFunction::greater:
      return run<In, bool>(loop, std::greater<In>());
    case TypedFunction::greater_equal:
      return run<In, bool>(loop, std::greater_equal<In>());
    case TypedFunction::equal:
      return run<In, bool>(loop, std::equal_to<In>());
    case TypedFunction::not_equal:
      return run<In, bool>(loop, std::not_equal_to<In>());
    default:
      return false;
  }
}

// Sums and products of numbers with signs have the bits of those without.
template <class U>
bool compute_wholes(const TypedLoop& loop) {
  switch (loop.function) {
    case TypedFunction::add:
      return run<U, U>(loop, std::plus<U>());
    case TypedFunction::subtract:
      return run<U, U>(loop, std::minus<U>());
    case TypedFunction::multiply:
      return run<U, U>(loop, std::multiplies<U>());
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

template <class T>
bool choose_of_two(const TypedLoop& loop) {
  switch (loop.function) {
    case TypedFunction::smaller:
      return run<T, T>(loop, [](T a, T b) { return b < a ? b : a; });
    case TypedFunction::larger:
      return run<T, T>(loop, [](T a, T b) { return a < b ? b : a; });
    default:
      return false;
  }
}

// Whole numbers T, whose bits without a sign are U.
template <class T, class U>
bool run_wholes(const TypedLoop& loop) {
  return compute_wholes<U>(loop) || choose_of_two<T>(loop) || compare<T>(loop);
}

bool compute_bools(const TypedLoop& loop) {
  using U = uint8_t;
  switch (loop.function) {
    case TypedFunction::both:
      return run<U, bool>(loop, [](U a, U b) { return (a != 0) & (b != 0); });
    case TypedFunction::either:
      return run<U, bool>(loop, [](U a, U b) { return (a != 0) | (b != 0); });
    case TypedFunction::one_alone:
      return run<U, bool>(loop, [](U a, U b) { return (a != 0) != (b != 0); });
    case TypedFunction::negated:
      return run<U, bool>(loop, [](U a, U) { return a == 0; });
    default:
      return false;
  }
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

}  // namespace

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
      return compute_bools(loop);
    case TypedElement::whole:
      return run_wholes<int64_t, uint64_t>(loop);
    case TypedElement::real:
      return compare<float>(loop);
    case TypedElement::medium:
      return run_wholes<int32_t, uint32_t>(loop);
    case TypedElement::small:
      return run_wholes<int8_t, uint8_t>(loop);
    case TypedElement::byte:
      return run_wholes<uint8_t, uint8_t>(loop);
  }
  return false;
}

}  // namespace pt2::kernels
