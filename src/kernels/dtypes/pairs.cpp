#include "kernels/dtypes/pairs.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dtypes/pairs.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Real and imaginary parts of some numbers. Products and sums are rounded apart: GCC would fuse
// those of plain loops.
template <class T>
struct PairVectors {
  using Tag = hn::ScalableTag<T>;
  hn::Vec<Tag> real, imaginary;

  static PairVectors load(const T* from) {
    hn::Vec<Tag> real, imaginary;
    hn::LoadInterleaved2(Tag(), from, real, imaginary);
    return {real, imaginary};
  }
  void store(T* to) const { hn::StoreInterleaved2(real, imaginary, Tag(), to); }
};

template <class T, class Function>
void combine_each_pair(const Pair<T>* a, const Pair<T>* b, Pair<T>* out, int64_t count,
                       const Function& function) {
  constexpr auto kWidth = static_cast<int64_t>(hn::MaxLanes(typename PairVectors<T>::Tag()));
  const auto combine = [&](const Pair<T>* x, const Pair<T>* y, Pair<T>* to) HWY_ATTR {
    function(PairVectors<T>::load(&x->real), PairVectors<T>::load(&y->real)).store(&to->real);
  };
  int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) combine(a + i, b + i, out + i);
  if (i == count) return;
  Pair<T> left[kWidth] = {}, right[kWidth] = {}, result[kWidth];
  std::copy(a + i, a + count, left);
  std::copy(b + i, b + count, right);
  combine(left, right, result);
  std::copy(result, result + (count - i), out + i);
}

template <class T>
void combine_pairs_of(TypedFunction function, const Pair<T>* a, const Pair<T>* b, Pair<T>* out,
                      int64_t count) {
  using P = PairVectors<T>;
  // PyTorch multiplies the second operand of a sum by the number 1, of which infinite parts make
  // the other part NaN (ATen/native/cpu/BinaryOpsKernel.cpp add_kernel).
  const auto as_addend = [](const P& y) HWY_ATTR {
    const auto zero = hn::Zero(typename P::Tag());
    return P{hn::Sub(y.real, hn::Mul(y.imaginary, zero)),
             hn::Add(y.imaginary, hn::Mul(y.real, zero))};
  };
  switch (function) {
    case TypedFunction::add:
      return combine_each_pair(a, b, out, count, [&](const P& x, const P& y) HWY_ATTR {
        const P z = as_addend(y);
        return P{hn::Add(x.real, z.real), hn::Add(x.imaginary, z.imaginary)};
      });
    case TypedFunction::subtract:
      return combine_each_pair(a, b, out, count, [&](const P& x, const P& y) HWY_ATTR {
        const P z = as_addend(y);
        return P{hn::Sub(x.real, z.real), hn::Sub(x.imaginary, z.imaginary)};
      });
    default:
      return combine_each_pair(a, b, out, count, [](const P& x, const P& y) HWY_ATTR {
        return P{hn::Sub(hn::Mul(x.real, y.real), hn::Mul(x.imaginary, y.imaginary)),
                 hn::Add(hn::Mul(x.real, y.imaginary), hn::Mul(x.imaginary, y.real))};
      });
  }
}

void combine_float_pairs(TypedFunction function, const Pair<float>* a, const Pair<float>* b,
                         Pair<float>* out, int64_t count) {
  combine_pairs_of(function, a, b, out, count);
}
void combine_double_pairs(TypedFunction function, const Pair<double>* a, const Pair<double>* b,
                          Pair<double>* out, int64_t count) {
  combine_pairs_of(function, a, b, out, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(combine_float_pairs);
PT2_EXPORT(combine_double_pairs);

void combine_pairs(TypedFunction function, const Pair<float>* a, const Pair<float>* b,
                   Pair<float>* out, int64_t count) {
  PT2_DISPATCH(combine_float_pairs)(function, a, b, out, count);
}
void combine_pairs(TypedFunction function, const Pair<double>* a, const Pair<double>* b,
                   Pair<double>* out, int64_t count) {
  PT2_DISPATCH(combine_double_pairs)(function, a, b, out, count);
}

}  // namespace pt2::kernels
#endif
