#include "kernels/dtypes/typed.h"

#include <functional>

namespace pt2::kernels {
namespace {

// Rows whose elements lie side by side, or are one for all, become vectors.
template <class In, class Out, class Function>
void run_row(const In* a, int64_t a_stride, const In* b, int64_t b_stride, Out* out, int64_t count,
             const Function& function) {
  if (a_stride == 1 && b_stride == 1)
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<Out>(function(a[i], b[i]));
  else if (a_stride == 1 && b_stride == 0)
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<Out>(function(a[i], *b));
  else
    for (int64_t i = 0; i < count; ++i)
      out[i] = static_cast<Out>(function(a[i * a_stride], b[i * b_stride]));
}

template <class In, class Out, class Function>
bool run(const TypedLoop& loop, const Function& function) {
  const auto& [n0, n1, n2, n3, count] = loop.sizes;
  const auto *a = static_cast<const In*>(loop.a.data), *b = static_cast<const In*>(loop.b.data);
  auto* out = static_cast<Out*>(loop.out);
  const auto &s = loop.a.strides, &t = loop.b.strides;
  for (int64_t i = 0; i < n0; ++i)
    for (int64_t j = 0; j < n1; ++j)
      for (int64_t k = 0; k < n2; ++k)
        for (int64_t l = 0; l < n3; ++l, out += count)
          run_row(a + i * s[0] + j * s[1] + k * s[2] + l * s[3], s[4],
                  b + i * t[0] + j * t[1] + k * t[2] + l * t[3], t[4], out, count, function);
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

bool compute_wholes(const TypedLoop& loop) {
  using U = uint64_t;
  switch (loop.function) {
    case TypedFunction::add:
      return run<U, U>(loop, std::plus<U>());
    case TypedFunction::subtract:
      return run<U, U>(loop, std::minus<U>());
    case TypedFunction::multiply:
      return run<U, U>(loop, std::multiplies<U>());
    default:
      return compare<int64_t>(loop);
  }
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
  const auto& [n0, n1, n2, n3, count] = choice.sizes;
  const auto *a = static_cast<const Element*>(choice.a.data),
             *b = static_cast<const Element*>(choice.b.data);
  const auto* mask = static_cast<const uint8_t*>(choice.mask.data);
  auto* out = static_cast<Element*>(choice.out);
  const auto at = [](const TypedOperand& operand, int64_t i, int64_t j, int64_t k, int64_t l) {
    const auto& s = operand.strides;
    return i * s[0] + j * s[1] + k * s[2] + l * s[3];
  };
  for (int64_t i = 0; i < n0; ++i)
    for (int64_t j = 0; j < n1; ++j)
      for (int64_t k = 0; k < n2; ++k)
        for (int64_t l = 0; l < n3; ++l, out += count) {
          const Element* x = a + at(choice.a, i, j, k, l);
          const Element* y = b + at(choice.b, i, j, k, l);
          const uint8_t* flag = mask + at(choice.mask, i, j, k, l);
          const int64_t s = choice.a.strides[4], t = choice.b.strides[4],
                        m = choice.mask.strides[4];
          if (s == 1 && t == 0 && m == 1)
            for (int64_t e = 0; e < count; ++e) out[e] = flag[e] != 0 ? x[e] : *y;
          else if (s == 0 && t == 1 && m == 1)
            for (int64_t e = 0; e < count; ++e) out[e] = flag[e] != 0 ? *x : y[e];
          else
            for (int64_t e = 0; e < count; ++e) out[e] = flag[e * m] != 0 ? x[e * s] : y[e * t];
        }
}

}  // namespace

void run_choice(const TypedChoice& choice) {
  if (choice.bytes == 4)
    choose<uint32_t>(choice);
  else
    choose<uint64_t>(choice);
}

bool run_typed(const TypedLoop& loop) {
  switch (loop.element) {
    case TypedElement::boolean:
      return compute_bools(loop);
    case TypedElement::whole:
      return compute_wholes(loop);
    case TypedElement::real:
      return compare<float>(loop);
  }
  return false;
}

}  // namespace pt2::kernels
