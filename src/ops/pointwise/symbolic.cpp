// Python numbers: the items of one-element tensors, Python's arithmetic, and assertions.
#include <cmath>
#include <functional>

#include "base/text.h"
#include "ops/loops.h"
#include "ops/op_def.h"
#include "ops/pointwise/copying.h"

namespace pt2::ops {
namespace {
namespace symbolic {

Result<Scalar> item(const Tensor& self) {
  if (self.numel() != 1)
    return operator_error("found " + std::to_string(self.numel()) + " elements, expected 1");
  const Dtype dtype = self.dtype();
  const std::byte* element = self.raw_data();
  switch (dtype_category(dtype)) {
    case DtypeCategory::boolean:
    case DtypeCategory::integer: {
      int64_t value = 0;
      load_elements<int64_t>(element, 1, dtype, 1, &value);
      return dtype == Dtype::bool_ ? Scalar(value != 0) : Scalar(value);
    }
    case DtypeCategory::floating: {
      double value = 0;
      load_elements<double>(element, 1, dtype, 1, &value);
      return Scalar(value);
    }
    case DtypeCategory::complex: {
      Complex value;
      load_elements<Complex>(element, 1, dtype, 1, &value);
      return Scalar(value);
    }
  }
  return Scalar(0);
}

// --- Python arithmetic. Python's ints are unbounded; here an int of more than 64 bits is an error.

Error overflow() { return operator_error("an integer exceeds 64 bits"); }
Error zero_division() { return operator_error("division by zero"); }

bool both_integral(const Scalar& a, const Scalar& b) { return a.is_integral() && b.is_integral(); }

Result<Scalar> add(const Scalar& a, const Scalar& b) {
  if (!both_integral(a, b)) return Scalar(a.to_double() + b.to_double());
  int64_t result = 0;
  if (__builtin_add_overflow(a.to_int(), b.to_int(), &result)) return overflow();
  return Scalar(result);
}
Result<Scalar> sub(const Scalar& a, const Scalar& b) {
  if (!both_integral(a, b)) return Scalar(a.to_double() - b.to_double());
  int64_t result = 0;
  if (__builtin_sub_overflow(a.to_int(), b.to_int(), &result)) return overflow();
  return Scalar(result);
}
Result<Scalar> mul(const Scalar& a, const Scalar& b) {
  if (!both_integral(a, b)) return Scalar(a.to_double() * b.to_double());
  int64_t result = 0;
  if (__builtin_mul_overflow(a.to_int(), b.to_int(), &result)) return overflow();
  return Scalar(result);
}
Result<Scalar> truediv(const Scalar& a, const Scalar& b) {
  if (b.to_double() == 0) return zero_division();
  return Scalar(a.to_double() / b.to_double());
}
// The remainder has the sign of the divisor; the quotient rounds down.
Result<Scalar> mod(const Scalar& a, const Scalar& b) {
  if (b.to_double() == 0) return zero_division();
  if (both_integral(a, b)) {
    const int64_t divisor = b.to_int();
    if (divisor == -1) return Scalar(int64_t{0});
    const int64_t rest = a.to_int() % divisor;
    return Scalar(rest != 0 && (rest < 0) != (divisor < 0) ? rest + divisor : rest);
  }
  const double divisor = b.to_double();
  const double rest = std::fmod(a.to_double(), divisor);
  if (rest == 0) return Scalar(std::copysign(0.0, divisor));
  return Scalar((rest < 0) != (divisor < 0) ? rest + divisor : rest);
}
Result<Scalar> floordiv(const Scalar& a, const Scalar& b) {
  if (b.to_double() == 0) return zero_division();
  if (!both_integral(a, b)) {
    // Rounds down after the division: by an infinite divisor, mod's remainder may be infinite.
    const double dividend = a.to_double(), divisor = b.to_double();
    const double rest = std::fmod(dividend, divisor);
    const bool down = rest != 0 && (rest < 0) != (divisor < 0);
    const double quotient = std::nearbyint((dividend - rest) / divisor - (down ? 1 : 0));
    return Scalar(quotient == 0 ? std::copysign(0.0, dividend / divisor) : quotient);
  }
  if (b.to_int() == -1) return sub(0, a);
  const int64_t quotient = a.to_int() / b.to_int();
  const bool down = a.to_int() % b.to_int() != 0 && (a.to_int() < 0) != (b.to_int() < 0);
  return Scalar(down ? quotient - 1 : quotient);
}
Result<Scalar> pow(const Scalar& a, const Scalar& b) {
  if (!both_integral(a, b) || b.to_int() < 0) {
    if (a.to_double() == 0 && b.to_double() < 0) return zero_division();
    return Scalar(std::pow(a.to_double(), b.to_double()));
  }
  int64_t result = 1;
  int64_t base = a.to_int();
  for (int64_t exponent = b.to_int(); exponent > 0; exponent /= 2) {
    if (exponent % 2 != 0 && __builtin_mul_overflow(result, base, &result)) return overflow();
    if (exponent > 1 && __builtin_mul_overflow(base, base, &base)) return overflow();
  }
  return Scalar(result);
}
Result<Scalar> neg(const Scalar& a) {
  return a.is_integral() ? sub(0, a) : Result<Scalar>(Scalar(-a.to_double()));
}
Result<Scalar> pos(const Scalar& a) { return add(a, 0); }
Result<Scalar> absolute(const Scalar& a) { return a.to_double() < 0 ? neg(a) : pos(a); }

// Returns -1, 0 or 1; 2 if an operand is NaN. Integers are compared exactly.
int compare(const Scalar& a, const Scalar& b) {
  if (both_integral(a, b)) return (a.to_int() > b.to_int()) - (a.to_int() < b.to_int());
  const double x = a.to_double();
  const double y = b.to_double();
  if (std::isnan(x) || std::isnan(y)) return 2;
  return (x > y) - (x < y);
}
bool eq(const Scalar& a, const Scalar& b) { return compare(a, b) == 0; }
bool ne(const Scalar& a, const Scalar& b) { return compare(a, b) != 0; }
bool lt(const Scalar& a, const Scalar& b) { return compare(a, b) == -1; }
bool le(const Scalar& a, const Scalar& b) { return compare(a, b) <= 0; }
bool gt(const Scalar& a, const Scalar& b) { return compare(a, b) == 1; }
bool ge(const Scalar& a, const Scalar& b) { return compare(a, b) == 0 || compare(a, b) == 1; }

// As in Python, bool & bool stays bool.
template <class F>
Result<Scalar> bits(const Scalar& a, const Scalar& b) {
  if (!both_integral(a, b)) return operator_error("found a float, expected integers");
  const int64_t result = F()(a.to_int(), b.to_int());
  const bool boolean =
      a.category() == DtypeCategory::boolean && b.category() == DtypeCategory::boolean;
  return boolean ? Scalar(result != 0) : Scalar(result);
}
Result<void> check_shift(const Scalar& a, const Scalar& b) {
  if (!both_integral(a, b) || b.to_int() < 0)
    return operator_error("found a bad shift, expected integers and a count of 0 or more");
  return {};
}
Result<Scalar> lshift(const Scalar& a, const Scalar& b) {
  PT2_TRY_VOID(check_shift(a, b));
  if (a.to_int() == 0) return Scalar(int64_t{0});
  if (b.to_int() > 62) return overflow();
  return mul(a, Scalar(int64_t{1} << b.to_int()));
}
Result<Scalar> rshift(const Scalar& a, const Scalar& b) {
  PT2_TRY_VOID(check_shift(a, b));
  return Scalar(a.to_int() >> std::min<int64_t>(b.to_int(), 63));
}
bool logical_not(const Scalar& a) { return !a.to_bool(); }

// --- math and torch

Result<Scalar> to_integer(double value) {
  if (!(value >= -0x1p63 && value < 0x1p63))
    return operator_error("found " + std::to_string(value) + ", expected a number of 64 bits");
  return Scalar(static_cast<int64_t>(value));
}
template <double (*Round)(double)>
Result<Scalar> rounded(const Scalar& a) {
  return a.is_integral() ? pos(a) : to_integer(Round(a.to_double()));
}
double sym_float(const Scalar& a) { return a.to_double(); }

// The result is a float if either operand is a float.
Result<Scalar> either(const Scalar& chosen, const Scalar& a, const Scalar& b) {
  return both_integral(a, b) ? chosen : Scalar(chosen.to_double());
}
Result<Scalar> sym_max(const Scalar& a, const Scalar& b) { return either(lt(a, b) ? b : a, a, b); }
Result<Scalar> sym_min(const Scalar& a, const Scalar& b) { return either(gt(a, b) ? b : a, a, b); }
Scalar sym_ite(const Scalar& condition, const Scalar& a, const Scalar& b) {
  return condition.to_bool() ? a : b;
}
Result<Scalar> sym_sum(const std::vector<Scalar>& args) {
  Scalar sum(0);
  for (const Scalar& arg : args) {
    PT2_TRY(sum, add(sum, arg));
  }
  return sum;
}
template <double (*F)(double)>
Result<double> real_function(const Scalar& a) {
  const double result = F(a.to_double());
  if (std::isnan(result) && !std::isnan(a.to_double()))
    return operator_error("found " + print_float(a.to_double()) + " outside the function's domain");
  return result;
}

Result<void> print(Context& context, const std::string& s) {
  if (context.on_print != nullptr) (*context.on_print)(s);
  return {};
}

// --- Assertions

Error failed(const std::string& message) { return operator_error("assertion failed: " + message); }
Result<void> assert_scalar(const Scalar& self, const std::string& assert_msg) {
  if (!self.to_bool()) return failed(assert_msg);
  return {};
}
Result<void> assert_async_msg(const Tensor& self, const std::string& assert_msg) {
  PT2_TRY(const Scalar value, item(self));
  return assert_scalar(value, assert_msg);
}
Result<void> assert_async(const Tensor& self) {
  return assert_async_msg(self, "expected a tensor that is not zero");
}
// The rule of functional assertions: the result is a copy of the token, which is the last argument.
Result<std::vector<Meta>> like_token(std::span<const Value> arguments) {
  return meta_list(Meta::like(*arguments.back().get_if<Tensor>()));
}
// A check that gives a copy of the token, after the arguments of the check.
template <auto Check, class... A>
Result<Tensor> with_token(const A&... argument, const Tensor& dep_token) {
  PT2_TRY_VOID(Check(argument...));
  return dep_token.clone();
}

using OptionalInt = std::optional<int64_t>;
Result<void> constrain_range(const Scalar& size, OptionalInt min, OptionalInt max) {
  if (!size.is_integral()) return operator_error("found a float, expected an integer");
  const int64_t value = size.to_int();
  const int64_t low = min.value_or(INT64_MIN);
  const int64_t high = max.value_or(INT64_MAX);
  if (low > high)
    return operator_error("found range [" + std::to_string(low) + ", " + std::to_string(high) +
                          "], expected min up to max");
  if (value < low || value > high)
    return operator_error("found " + std::to_string(value) + ", expected a value between " +
                          std::to_string(low) + " and " + std::to_string(high));
  return {};
}
// A size is at least 0. A max of at most 2 would specialize the size, which PyTorch refuses.
Result<void> constrain_range_for_size(const Scalar& size, OptionalInt min, OptionalInt max) {
  if (max && *max <= 2)
    return operator_error("found max " + std::to_string(*max) + ", expected more than 2");
  return constrain_range(size, std::max<int64_t>(min.value_or(0), 0), max);
}
// Does not compare the device: programs exported on other devices run on the CPU here.
Result<void> assert_tensor_metadata(const Tensor& a, const std::optional<Sizes>& size,
                                    const std::optional<Sizes>& stride, std::optional<Dtype> dtype,
                                    const std::optional<Device>&, std::optional<Layout> layout) {
  if (size && *size != a.sizes())
    return operator_error("found sizes " + sizes_text(a.sizes()) + ", expected " +
                          sizes_text(*size));
  if (stride && *stride != a.strides())
    return operator_error("found strides " + sizes_text(a.strides()) + ", expected " +
                          sizes_text(*stride));
  if (dtype && *dtype != a.dtype())
    return operator_error("found dtype " + std::string(dtype_name(a.dtype())) + ", expected " +
                          std::string(dtype_name(*dtype)));
  return check_layout(layout);
}

// clang-format off
constexpr OpDef kSymbolicOps[] = {
    composed<"aten::item(Tensor self) -> Scalar", depends_on_data, item>.with({.same_as = "_local_scalar_dense.default"}),
    composed<"aten::_local_scalar_dense(Tensor self) -> Scalar", depends_on_data, item>,
    composed<"prims::item(Tensor a) -> Scalar", depends_on_data, item>,
    op<"aten::_print(str s) -> ()", print>,
    op<"aten::_assert_scalar(Scalar self, str assert_msg) -> ()", assert_scalar>,
    op<"aten::_assert_async(Tensor self) -> ()", assert_async>,
    op<"aten::_assert_async.msg(Tensor self, str assert_msg) -> ()", assert_async_msg>,
    composed<"aten::_functional_assert_async.msg(Tensor self, str assert_msg, Tensor dep_token) -> Tensor", like_token, with_token<assert_async_msg, Tensor, std::string>>,
    composed<"aten::_functional_assert_scalar(Scalar self, str assert_msg, Tensor dep_token) -> Tensor", like_token, with_token<assert_scalar, Scalar, std::string>>,
    op<"aten::_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, ScalarType? dtype=None, *, Device? device=None, Layout? layout=None) -> ()", assert_tensor_metadata>.with({.looks_at_sizes_alone = true}),
    op<"aten::sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()", constrain_range>,
    op<"aten::sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()", constrain_range_for_size>,
    composed<"aten::_functional_sym_constrain_range(Scalar size, int? min, int? max, Tensor dep_token) -> Tensor", like_token, with_token<constrain_range, Scalar, OptionalInt, OptionalInt>>,
    composed<"aten::_functional_sym_constrain_range_for_size(Scalar size, int? min, int? max, Tensor dep_token) -> Tensor", like_token, with_token<constrain_range_for_size, Scalar, OptionalInt, OptionalInt>>,
    op<"_operator.add(Scalar a, Scalar b) -> Scalar", add>,
    op<"_operator.sub(Scalar a, Scalar b) -> Scalar", sub>,
    op<"_operator.mul(Scalar a, Scalar b) -> Scalar", mul>,
    op<"_operator.truediv(Scalar a, Scalar b) -> Scalar", truediv>,
    op<"_operator.floordiv(Scalar a, Scalar b) -> Scalar", floordiv>,
    op<"_operator.mod(Scalar a, Scalar b) -> Scalar", mod>,
    op<"_operator.pow(Scalar a, Scalar b) -> Scalar", pow>,
    op<"_operator.neg(Scalar a) -> Scalar", neg>,
    op<"_operator.pos(Scalar a) -> Scalar", pos>,
    op<"_operator.abs(Scalar a) -> Scalar", absolute>,
    op<"_operator.eq(Scalar a, Scalar b) -> bool", eq>,
    op<"_operator.ne(Scalar a, Scalar b) -> bool", ne>,
    op<"_operator.lt(Scalar a, Scalar b) -> bool", lt>,
    op<"_operator.le(Scalar a, Scalar b) -> bool", le>,
    op<"_operator.gt(Scalar a, Scalar b) -> bool", gt>,
    op<"_operator.ge(Scalar a, Scalar b) -> bool", ge>,
    op<"_operator.and_(Scalar a, Scalar b) -> Scalar", bits<std::bit_and<int64_t>>>,
    op<"_operator.or_(Scalar a, Scalar b) -> Scalar", bits<std::bit_or<int64_t>>>,
    op<"_operator.xor(Scalar a, Scalar b) -> Scalar", bits<std::bit_xor<int64_t>>>,
    op<"_operator.lshift(Scalar a, Scalar b) -> Scalar", lshift>,
    op<"_operator.rshift(Scalar a, Scalar b) -> Scalar", rshift>,
    op<"_operator.not_(Scalar a) -> bool", logical_not>,
    op<"math.ceil(Scalar x) -> Scalar", rounded<std::ceil>>,
    op<"math.floor(Scalar x) -> Scalar", rounded<std::floor>>,
    op<"math.trunc(Scalar x) -> Scalar", rounded<std::trunc>>,
    op<"builtins.round(Scalar a) -> Scalar", rounded<std::nearbyint>>,
    op<"builtins.abs(Scalar a) -> Scalar", absolute>,
    op<"math.sqrt(Scalar x) -> float", real_function<std::sqrt>>,
    op<"math.exp(Scalar x) -> float", real_function<std::exp>>,
    op<"math.log(Scalar x) -> float", real_function<std::log>>,
    op<"math.log2(Scalar x) -> float", real_function<std::log2>>,
    op<"math.sin(Scalar x) -> float", real_function<std::sin>>,
    op<"math.cos(Scalar x) -> float", real_function<std::cos>>,
    op<"math.tan(Scalar x) -> float", real_function<std::tan>>,
    op<"math.sinh(Scalar x) -> float", real_function<std::sinh>>,
    op<"math.cosh(Scalar x) -> float", real_function<std::cosh>>,
    op<"math.tanh(Scalar x) -> float", real_function<std::tanh>>,
    op<"math.asin(Scalar x) -> float", real_function<std::asin>>,
    op<"math.acos(Scalar x) -> float", real_function<std::acos>>,
    op<"math.atan(Scalar x) -> float", real_function<std::atan>>,
    op<"torch.sym_float(Scalar a) -> float", sym_float>,
    op<"torch.sym_int(Scalar a) -> Scalar", rounded<std::trunc>>,
    op<"torch.sym_max(Scalar a, Scalar b) -> Scalar", sym_max>,
    op<"torch.sym_min(Scalar a, Scalar b) -> Scalar", sym_min>,
    op<"torch.sym_not(Scalar a) -> bool", logical_not>,
    op<"torch.sym_ite(Scalar b, Scalar t, Scalar f) -> Scalar", sym_ite>,
    op<"torch.sym_sum(Scalar[] args) -> Scalar", sym_sum>,
    op<"torch._sym_sqrt(Scalar a) -> float", real_function<std::sqrt>>,
    op<"torch._sym_exp(Scalar a) -> float", real_function<std::exp>>,
    op<"torch._sym_log2(Scalar a) -> float", real_function<std::log2>>,
    op<"torch._sym_sin(Scalar a) -> float", real_function<std::sin>>,
    op<"torch._sym_cos(Scalar a) -> float", real_function<std::cos>>,
    op<"torch._sym_tan(Scalar a) -> float", real_function<std::tan>>,
    op<"torch._sym_sinh(Scalar a) -> float", real_function<std::sinh>>,
    op<"torch._sym_cosh(Scalar a) -> float", real_function<std::cosh>>,
    op<"torch._sym_tanh(Scalar a) -> float", real_function<std::tanh>>,
    op<"torch._sym_asin(Scalar a) -> float", real_function<std::asin>>,
    op<"torch._sym_acos(Scalar a) -> float", real_function<std::acos>>,
    op<"torch._sym_atan(Scalar a) -> float", real_function<std::atan>>,
};
// clang-format on

}  // namespace symbolic
}  // namespace

std::span<const OpDef> symbolic_ops() { return symbolic::kSymbolicOps; }

}  // namespace pt2::ops
