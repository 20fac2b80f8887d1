#include "base/text.h"
#include "ops/pointwise/pointwise.h"

namespace pt2::ops {
namespace {

Error dtype_error(Dtype dtype, std::string_view expected) {
  return operator_error("found dtype " + std::string(dtype_name(dtype)) + ", expected " +
                        std::string(expected));
}

}  // namespace

double largest_finite(Dtype dtype) {
  switch (dtype) {
    case Dtype::float16:
    case Dtype::complex32:
      return 65504;
    case Dtype::bfloat16:
      return 0x1.fep127;
    case Dtype::float32:
    case Dtype::complex64:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

Complex log_add_exp(Complex a, Complex b) {
  auto has_nan = [](Complex x) { return std::isnan(x.real()) || std::isnan(x.imag()); };
  if (has_nan(a) || has_nan(b)) return {std::nan(""), std::nan("")};
  const Complex low = a.real() < b.real() ? a : b;
  const Complex high = a.real() < b.real() ? b : a;
  if (std::isinf(low.real()) && low.real() == high.real())
    return low.real() < 0 ? low : std::log(std::exp(low) + std::exp(high));
  return high + std::log(1.0 + std::exp(low - high));
}

Result<void> expect_real(Dtype dtype) {
  if (dtype_category(dtype) == DtypeCategory::complex) return dtype_error(dtype, "a real one");
  return {};
}
Result<void> expect_not_bool(Dtype dtype) {
  if (dtype == Dtype::bool_) return dtype_error(dtype, "a number");
  return {};
}
Result<void> expect_integral(Dtype dtype) {
  if (dtype_category(dtype) > DtypeCategory::integer)
    return dtype_error(dtype, "an integer or bool");
  return {};
}
Result<void> expect_fraction(Dtype dtype) {
  if (dtype_category(dtype) < DtypeCategory::floating)
    return dtype_error(dtype, "a float or complex one");
  return {};
}

Result<void> expect_representable(const Scalar& value, Dtype dtype) {
  const double number = value.to_double();
  const auto overflow = [&] {
    return operator_error("the value " + print_float(number) + " does not fit dtype " +
                          std::string(dtype_name(dtype)));
  };
  if (dtype_category(dtype) != DtypeCategory::complex && value.to_complex().imag() != 0)
    return overflow();
  switch (dtype_category(dtype)) {
    case DtypeCategory::boolean:
      return {};
    case DtypeCategory::integer: {
      // Every int64_t fits a 64-bit dtype. The comparison as doubles would reject the largest ones.
      if (value.is_integral() && dtype_size(dtype) == 8) return {};
      // An unsigned dtype also accepts the negations of its numbers, which wrap around.
      const double limit =
          std::ldexp(1.0, static_cast<int>(dtype_size(dtype)) * 8 - (is_unsigned(dtype) ? 0 : 1));
      if (is_unsigned(dtype) ? !(number < limit && number > -limit)
                             : !(number < limit && number >= -limit))
        return overflow();
      return {};
    }
    case DtypeCategory::floating:
    case DtypeCategory::complex:
      if (std::isfinite(number) && std::fabs(number) > largest_finite(dtype)) return overflow();
      return {};
  }
  return {};
}

Result<Meta> with_numbers(Result<Meta> meta, std::initializer_list<Scalar> numbers) {
  if (!meta) return meta;
  for (const Scalar& number : numbers)
    PT2_TRY_VOID(expect_representable(number, wide_dtype(meta->dtype)));
  return meta;
}

Result<Meta> elementwise_meta(Dtype dtype, std::initializer_list<const Tensor*> operands) {
  std::vector<Sizes> sizes;
  for (const Tensor* operand : operands) sizes.push_back(operand->sizes());
  PT2_TRY(Sizes out, broadcast_sizes(sizes));
  Sizes strides = elementwise_strides(out, std::span(operands.begin(), operands.size()));
  return Meta(dtype, std::move(out), std::move(strides));
}

namespace {

Result<Meta> checked(Result<Meta> meta, Dtype (*to)(Dtype),
                     std::initializer_list<DtypeCheck> checks) {
  if (!meta) return meta;
  for (const DtypeCheck check : checks) PT2_TRY_VOID(check(meta->dtype));
  meta->dtype = to(meta->dtype);
  return meta;
}

}  // namespace

Result<Meta> checked_meta(const Tensor& self, Dtype (*to)(Dtype),
                          std::initializer_list<DtypeCheck> checks) {
  return checked(elementwise_meta(self.dtype(), {&self}), to, checks);
}
Result<Meta> checked_meta(const Tensor& a, const Tensor& b, Dtype (*to)(Dtype),
                          std::initializer_list<DtypeCheck> checks) {
  return checked(elementwise_meta(Promotion().add(a).add(b).result(), {&a, &b}), to, checks);
}

Dtype wide_dtype(Dtype dtype) {
  if (dtype_category(dtype) == DtypeCategory::floating)
    return dtype == Dtype::float64 ? dtype : Dtype::float32;
  return dtype == Dtype::complex32 ? Dtype::complex64 : dtype;
}

}  // namespace pt2::ops
