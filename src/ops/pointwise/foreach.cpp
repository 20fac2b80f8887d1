// Operators on lists of tensors. Each calls another operator on the first items of the lists, then
// on the second items, and so on (ATen/native/ForeachOpsKernels.cpp).
#include "ops/compose.h"
#include "ops/loops.h"
#include "ops/pointwise/copying.h"

namespace pt2::ops {
namespace {

// Returns the length of the lists among the arguments. A tensor outside of lists stands for a
// number and is combined with every item.
template <class... A>
Result<size_t> common_length(const A&... arguments) {
  std::optional<size_t> length;
  std::optional<Error> fault;
  const auto look = [&](const auto& argument) {
    using Argument = std::decay_t<decltype(argument)>;
    if constexpr (kIsVector<Argument>) {
      if (length && *length != argument.size())
        fault = operator_error("found lists of " + std::to_string(*length) + " and " +
                               std::to_string(argument.size()) + " items, expected equally many");
      length = argument.size();
    } else if constexpr (std::is_same_v<Argument, Tensor>) {
      if (argument.dim() != 0)
        fault = operator_error("found sizes " + sizes_text(argument.sizes()) +
                               ", expected a tensor without dimensions");
    }
  };
  (look(arguments), ...);
  if (fault) return *std::move(fault);
  if (length.value_or(0) == 0)
    return operator_error("found a list without tensors, expected at least one");
  return *length;
}

template <class T>
const T& item(const T& argument, size_t) {
  return argument;
}
template <class T>
const T& item(const std::vector<T>& list, size_t i) {
  return list[i];
}

template <Handle Base, class... A>
Result<Tensors> each(Emitter& e, const A&... arguments) {
  PT2_TRY(const size_t length, common_length(arguments...));
  Tensors out;
  for (size_t i = 0; i < length; ++i) {
    PT2_TRY(Tensor result, e(Base, {item(arguments, i)...}));
    out.push_back(std::move(result));
  }
  return out;
}
template <Handle Base, class... A>
Result<void> write_each(Emitter& e, const A&... arguments) {
  PT2_TRY(const size_t length, common_length(arguments...));
  for (size_t i = 0; i < length; ++i) PT2_TRY_VOID(e(Base, {item(arguments, i)...}));
  return {};
}

// Returns the elements of a tensor that stands for a list of numbers (ATen/native/ForeachUtils.h
// convert_tensor_to_scalar_list).
Result<std::vector<Scalar>> numbers_in(const Tensor& scalars, size_t count) {
  if (scalars.dim() != 1 || !scalars.is_contiguous() ||
      scalars.numel() != static_cast<int64_t>(count))
    return operator_error("found sizes " + sizes_text(scalars.sizes()) + ", expected " +
                          std::to_string(count) + " numbers in a row");
  std::vector<Scalar> out;
  for (int64_t i = 0; i < scalars.numel(); ++i) {
    PT2_TRY(const std::vector<Value> number,
            apply_all(aten<"_local_scalar_dense.default">,
                      {scalars.with_view({}, {}, scalars.storage_offset() + i)}));
    out.push_back(unbox<Scalar>(number[0]));
  }
  return out;
}
template <auto Listed>
auto with_numbers(const Tensors& self, const Tensors& tensor1, const Tensors& tensor2,
                  const Tensor& scalars)
    -> decltype(Listed(std::declval<Emitter&>(), self, tensor1, tensor2, {})) {
  PT2_TRY(const std::vector<Scalar> numbers, numbers_in(scalars, self.size()));
  Context context;
  Runner runner(context);
  return Listed(runner, self, tensor1, tensor2, numbers);
}

Result<Tensor> norm_of(Emitter& e, const Tensor& self, const Scalar& ord,
                       const OptionalDtype& dtype) {
  return e(aten<"linalg_vector_norm.default">, {self, ord, std::nullopt, false, dtype});
}
template <auto Of>
Result<Tensors> of_each(Emitter& e, const Tensors& self, const Scalar& ord,
                        const OptionalDtype& dtype) {
  PT2_TRY_VOID(common_length(self));
  Tensors out;
  for (const Tensor& tensor : self) {
    PT2_TRY(Tensor result, Of(e, tensor, ord, dtype));
    out.push_back(std::move(result));
  }
  return out;
}

// A norm without its root. Half floats are summed in float32.
Result<Tensor> sum_of_powers(Emitter& e, const Tensor& self, const Scalar& ord,
                             const OptionalDtype& dtype) {
  const Dtype wanted = dtype.value_or(self.dtype());
  if (dtype_category(wanted) < DtypeCategory::floating)
    return operator_error("found dtype " + std::string(dtype_name(wanted)) +
                          ", expected a floating or complex one");
  const Dtype wide = promote_types(wanted, Dtype::float32);
  PT2_TRY(const Tensor powers,
          e(aten<"pow.Tensor_Scalar">,
            {e(aten<"abs.default">, {e(aten<"_to_copy.default">, {self, wide})}), ord}));
  return converted(e, e(aten<"sum.default">, {powers}), real_dtype(wanted));
}

// clang-format off
constexpr Facts kByRule{};
constexpr Facts kConstant{.slope = Slope::constant};
constexpr Facts kLinear{.slope = Slope::linear};
constexpr Facts kLinearInBoth{.slope = Slope::linear, .linear_in = "self other"};
constexpr Facts kLinearInEnds{.slope = Slope::linear, .linear_in = "self tensors1"};

// An operator and its in-place form. `text` and `overload` are the two spellings of the overload.
// The variadic types are those of the parameters after self.
#define PT2_FOREACH_OVERLOAD(name, facts, text, overload, parameters, base, base_overload, ...) \
  op<"aten::_foreach_" name text "(Tensor[] self" parameters ") -> Tensor[]", \
     each<aten<base base_overload>, Tensors __VA_OPT__(,) __VA_ARGS__>>.with(facts), \
  op<"aten::_foreach_" name "_" text "(Tensor(a!)[] self" parameters ") -> ()", \
     write_each<aten<base "_" base_overload>, Tensors __VA_OPT__(,) __VA_ARGS__>>.with({.functional_form = "_foreach_" name overload})
#define PT2_FOREACH(name, facts, overload, parameters, base, base_overload, ...) \
  PT2_FOREACH_OVERLOAD(name, facts, overload, overload, parameters, base, base_overload, __VA_ARGS__)
#define PT2_FOREACH_UNARY(name, facts) PT2_FOREACH_OVERLOAD(name, facts, "", ".default", "", name, ".default")
// A list of numbers and a single number use the same parameter of the base operator.
#define PT2_FOREACH_NUMBERS(name, facts, number, numbers, base, base_overload) \
  PT2_FOREACH(name, facts, ".Scalar", ", Scalar " number, base, base_overload, Scalar), \
  PT2_FOREACH(name, facts, ".ScalarList", ", Scalar[] " numbers, base, base_overload, std::vector<Scalar>)
#define PT2_FOREACH_PRODUCT(name) \
  PT2_FOREACH(name, kByRule, ".Scalar", ", Tensor[] tensor1, Tensor[] tensor2, Scalar value=1", name, ".default", Tensors, Tensors, Scalar), \
  PT2_FOREACH(name, kByRule, ".ScalarList", ", Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars", name, ".default", Tensors, Tensors, std::vector<Scalar>), \
  op<"aten::_foreach_" name ".Tensor(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Tensor scalars) -> Tensor[]", \
     with_numbers<each<aten<name ".default">, Tensors, Tensors, Tensors, std::vector<Scalar>>>>, \
  op<"aten::_foreach_" name "_.Tensor(Tensor(a!)[] self, Tensor[] tensor1, Tensor[] tensor2, Tensor scalars) -> ()", \
     with_numbers<write_each<aten<name "_.default">, Tensors, Tensors, Tensors, std::vector<Scalar>>>>.with({.functional_form = "_foreach_" name ".Tensor"})

constexpr OpDef kForeachOps[] = {
    PT2_FOREACH_UNARY("abs", kByRule),
    PT2_FOREACH_UNARY("acos", kByRule),
    PT2_FOREACH_UNARY("asin", kByRule),
    PT2_FOREACH_UNARY("atan", kByRule),
    PT2_FOREACH_UNARY("ceil", kConstant),
    PT2_FOREACH_UNARY("cos", kByRule),
    PT2_FOREACH_UNARY("cosh", kByRule),
    PT2_FOREACH_UNARY("erf", kByRule),
    PT2_FOREACH_UNARY("erfc", kByRule),
    PT2_FOREACH_UNARY("exp", kByRule),
    PT2_FOREACH_UNARY("expm1", kByRule),
    PT2_FOREACH_UNARY("floor", kConstant),
    PT2_FOREACH_UNARY("frac", kByRule),
    PT2_FOREACH_UNARY("lgamma", kByRule),
    PT2_FOREACH_UNARY("log", kByRule),
    PT2_FOREACH_UNARY("log10", kByRule),
    PT2_FOREACH_UNARY("log1p", kByRule),
    PT2_FOREACH_UNARY("log2", kByRule),
    PT2_FOREACH_UNARY("neg", kLinear),
    PT2_FOREACH_UNARY("reciprocal", kByRule),
    PT2_FOREACH_UNARY("round", kConstant),
    PT2_FOREACH_UNARY("rsqrt", kByRule),
    PT2_FOREACH_UNARY("sigmoid", kByRule),
    PT2_FOREACH_UNARY("sign", kConstant),
    PT2_FOREACH_UNARY("sin", kByRule),
    PT2_FOREACH_UNARY("sinh", kByRule),
    PT2_FOREACH_UNARY("sqrt", kByRule),
    PT2_FOREACH_UNARY("tan", kByRule),
    PT2_FOREACH_UNARY("tanh", kByRule),
    PT2_FOREACH_UNARY("trunc", kConstant),
    PT2_FOREACH_NUMBERS("add", kByRule, "scalar", "scalars", "add", ".Scalar"),
    PT2_FOREACH("add", kLinearInBoth, ".List", ", Tensor[] other, *, Scalar alpha=1", "add", ".Tensor", Tensors, Scalar),
    PT2_FOREACH("add", kLinearInBoth, ".Tensor", ", Tensor other, *, Scalar alpha=1", "add", ".Tensor", Tensor, Scalar),
    PT2_FOREACH_NUMBERS("sub", kByRule, "scalar", "scalars", "sub", ".Scalar"),
    PT2_FOREACH("sub", kLinearInBoth, ".List", ", Tensor[] other, *, Scalar alpha=1", "sub", ".Tensor", Tensors, Scalar),
    PT2_FOREACH_NUMBERS("mul", kLinear, "scalar", "scalars", "mul", ".Scalar"),
    PT2_FOREACH("mul", kByRule, ".List", ", Tensor[] other", "mul", ".Tensor", Tensors),
    PT2_FOREACH("mul", kByRule, ".Tensor", ", Tensor other", "mul", ".Tensor", Tensor),
    PT2_FOREACH_NUMBERS("div", kLinear, "scalar", "scalars", "div", ".Scalar"),
    PT2_FOREACH("div", kByRule, ".List", ", Tensor[] other", "div", ".Tensor", Tensors),
    PT2_FOREACH("div", kByRule, ".Tensor", ", Tensor other", "div", ".Tensor", Tensor),
    PT2_FOREACH_NUMBERS("clamp_min", kByRule, "scalar", "scalars", "clamp_min", ".default"),
    PT2_FOREACH("clamp_min", kByRule, ".List", ", Tensor[] other", "clamp_min", ".Tensor", Tensors),
    PT2_FOREACH_NUMBERS("clamp_max", kByRule, "scalar", "scalars", "clamp_max", ".default"),
    PT2_FOREACH("clamp_max", kByRule, ".List", ", Tensor[] other", "clamp_max", ".Tensor", Tensors),
    PT2_FOREACH_NUMBERS("maximum", kByRule, "scalar", "scalars", "clamp_min", ".default"),
    PT2_FOREACH("maximum", kByRule, ".List", ", Tensor[] other", "clamp_min", ".Tensor", Tensors),
    PT2_FOREACH_NUMBERS("minimum", kByRule, "scalar", "scalars", "clamp_max", ".default"),
    PT2_FOREACH("minimum", kByRule, ".List", ", Tensor[] other", "clamp_max", ".Tensor", Tensors),
    PT2_FOREACH_NUMBERS("pow", kByRule, "exponent", "exponent", "pow", ".Tensor_Scalar"),
    PT2_FOREACH("pow", kByRule, ".List", ", Tensor[] exponent", "pow", ".Tensor_Tensor", Tensors),
    op<"aten::_foreach_pow.ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]", each<aten<"pow.Scalar">, Scalar, Tensors>>,
    PT2_FOREACH("lerp", kByRule, ".List", ", Tensor[] tensors1, Tensor[] weights", "lerp", ".Tensor", Tensors, Tensors),
    PT2_FOREACH("lerp", kLinearInEnds, ".Scalar", ", Tensor[] tensors1, Scalar weight", "lerp", ".Scalar", Tensors, Scalar),
    PT2_FOREACH("lerp", kLinearInEnds, ".ScalarList", ", Tensor[] tensors1, Scalar[] weight", "lerp", ".Scalar", Tensors, std::vector<Scalar>),
    PT2_FOREACH_PRODUCT("addcmul"),
    PT2_FOREACH_PRODUCT("addcdiv"),
    op<"aten::_foreach_mm(Tensor[] self, Tensor[] mat2) -> Tensor[]", each<aten<"mm.default">, Tensors, Tensors>>,
    op<"aten::_foreach_max(Tensor[] self) -> Tensor[]", each<aten<"max.default">, Tensors>>,
    op<"aten::_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]", of_each<norm_of>>,
    op<"aten::_foreach_powsum.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]", of_each<sum_of_powers>>,
    op<"aten::_foreach_clone(Tensor[] self, *, MemoryFormat? memory_format=None) -> Tensor[]", each<aten<"clone.default">, Tensors, OptionalFormat>>.with(kLinear),
    op<"aten::_foreach_zero(Tensor[] self) -> Tensor[] self_out", each<aten<"zero.default">, Tensors>>.with(kConstant),
    op<"aten::_foreach_zero_(Tensor(a!)[] self) -> ()", write_each<aten<"zero_.default">, Tensors>>.with({.functional_form = "_foreach_zero.default"}),
    op<"aten::_foreach_copy(Tensor[] self, Tensor[] src, bool non_blocking=False) -> Tensor[] self_out", each<aten<"copy.default">, Tensors, Tensors, bool>>.with({.slope = Slope::linear, .linear_in = "src"}),
    op<"aten::_foreach_copy_(Tensor(a!)[] self, Tensor[] src, bool non_blocking=False) -> ()", write_each<aten<"copy_.default">, Tensors, Tensors, bool>>.with({.functional_form = "_foreach_copy.default"}),
};
// clang-format on
#undef PT2_FOREACH_PRODUCT
#undef PT2_FOREACH_NUMBERS
#undef PT2_FOREACH_UNARY
#undef PT2_FOREACH
#undef PT2_FOREACH_OVERLOAD

}  // namespace

std::span<const OpDef> foreach_ops() { return kForeachOps; }

}  // namespace pt2::ops
