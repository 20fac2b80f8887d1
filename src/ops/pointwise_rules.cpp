#include "ops/pointwise.h"

namespace pt2::ops {
namespace {

Error dtype_error(Dtype dtype, std::string_view expected) {
  return operator_error("found dtype " + std::string(dtype_name(dtype)) + ", expected " +
                        std::string(expected));
}

}  // namespace

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

Result<Meta> elementwise_meta(Dtype dtype, std::initializer_list<const Tensor*> operands) {
  std::vector<Sizes> sizes;
  for (const Tensor* operand : operands) sizes.push_back(operand->sizes());
  PT2_TRY(Sizes out, broadcast_sizes(sizes));
  Sizes strides = elementwise_strides(out, std::span(operands.begin(), operands.size()));
  return Meta(dtype, std::move(out), std::move(strides));
}

Result<Meta> as_self(const Tensor& self) { return elementwise_meta(self.dtype(), {&self}); }

Result<Meta> real_as_self(const Tensor& self) {
  PT2_TRY_VOID(expect_real(self.dtype()));
  return as_self(self);
}

Result<Meta> fraction_of_self(const Tensor& self) {
  return elementwise_meta(float_or_default(self.dtype()), {&self});
}

Result<Meta> real_fraction_of_self(const Tensor& self) {
  PT2_TRY_VOID(expect_real(self.dtype()));
  return fraction_of_self(self);
}

Result<Meta> strict_fraction_as_self(const Tensor& self) {
  PT2_TRY_VOID(expect_fraction(self.dtype()));
  return as_self(self);
}

Result<Meta> strict_float_as_self(const Tensor& self) {
  PT2_TRY_VOID(expect_real(self.dtype()));
  return strict_fraction_as_self(self);
}

Result<Meta> bool_like_self(const Tensor& self) { return elementwise_meta(Dtype::bool_, {&self}); }

Result<Meta> promoted(const Tensor& a, const Tensor& b) {
  return elementwise_meta(Promotion().add(a).add(b).result(), {&a, &b});
}

Result<Meta> promoted_number(const Tensor& a, const Scalar& b) {
  return elementwise_meta(Promotion().add(a).add(b).result(), {&a});
}

Dtype wide_dtype(Dtype dtype) {
  if (dtype_category(dtype) == DtypeCategory::floating)
    return dtype == Dtype::float64 ? dtype : Dtype::float32;
  return dtype == Dtype::complex32 ? Dtype::complex64 : dtype;
}

Tensor number_tensor(const Scalar& number) {
  constexpr Dtype kWidest[] = {Dtype::bool_, Dtype::int64, Dtype::float64, Dtype::complex128};
  return scalar_tensor(number, kWidest[static_cast<size_t>(number.category())]);
}

}  // namespace pt2::ops
