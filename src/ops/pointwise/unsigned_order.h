// uint64 is computed as int64, where numbers from 2^63 on are negative. Operators that compare
// elements must pass them through this header.
#ifndef PT2_OPS_POINTWISE_UNSIGNED_ORDER_H
#define PT2_OPS_POINTWISE_UNSIGNED_ORDER_H

#include <tuple>
#include <type_traits>

#include "ops/loops.h"

namespace pt2::ops {

// elementwise, but uint64_t replaces C if `common` is uint64.
template <class C, class F, class... In>
void ordered_elementwise(Tensor& out, Dtype common, F&& function, const In&... in) {
  if constexpr (std::is_same_v<C, int64_t>)
    if (common == Dtype::uint64)
      return elementwise<int64_t>(
          out, common,
          [&](auto... x) { return static_cast<int64_t>(function(static_cast<uint64_t>(x)...)); },
          in...);
  elementwise<C>(out, common, function, in...);
}

// Maps uint64 elements to int64 in the same order, and back, by inverting the highest bit.
inline void turn_order(Tensor& out, const Tensor& self) {
  elementwise<int64_t>(
      out, self.dtype(), [](int64_t x) { return x ^ INT64_MIN; }, self);
}
inline Tensor in_int64_order(const Tensor& self) {
  if (self.dtype() != Dtype::uint64) return self;
  Tensor out = Tensor::zeros(Dtype::int64, self.sizes());
  turn_order(out, self);
  return out;
}

template <class A>
struct OrderedArgument {
  A argument;
  explicit OrderedArgument(A from) : argument(from) {}
  A get() { return argument; }
};
template <>
struct OrderedArgument<const Tensor&> {
  Tensor argument;
  explicit OrderedArgument(const Tensor& from) : argument(in_int64_order(from)) {}
  const Tensor& get() const { return argument; }
};
template <>
struct OrderedArgument<Tensor&> {
  Tensor result;
  Tensor work;
  explicit OrderedArgument(Tensor& out)
      : result(out),
        work(out.dtype() == Dtype::uint64 ? Tensor::zeros(Dtype::int64, out.sizes()) : out) {}
  ~OrderedArgument() {
    if (result.dtype() == Dtype::uint64) turn_order(result, work);
  }
  Tensor& get() { return work; }
};

template <auto Kernel, class F = decltype(Kernel)>
struct InOrder;
template <auto Kernel, class R, class... A>
struct InOrder<Kernel, R (*)(A...)> {
  static R call(A... arguments) {
    std::tuple<OrderedArgument<A>...> ordered(arguments...);
    return std::apply([](auto&... each) { return Kernel(each.get()...); }, ordered);
  }
};
// Makes a kernel that only compares and copies elements correct for uint64, too.
template <auto Kernel>
inline constexpr auto in_order = &InOrder<Kernel>::call;

}  // namespace pt2::ops

#endif  // PT2_OPS_POINTWISE_UNSIGNED_ORDER_H
