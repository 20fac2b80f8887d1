// Comparisons, logic and whole numbers.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "kernels/dtypes/typed.h"
#include "ops/convert.h"
#include "run/plan/layout.h"
#include "run/plan/planner.h"
#include "run/plan/pointwise.h"

namespace pt2::run {
namespace {

using kernels::TypedElement;
using kernels::TypedFunction;
using kernels::TypedLoop;

constexpr struct {
  std::string_view name;
  TypedFunction function;
} kFunctions[] = {
    {"aten::add", TypedFunction::add},
    {"aten::sub", TypedFunction::subtract},
    {"aten::mul", TypedFunction::multiply},
    {"aten::minimum", TypedFunction::smaller},
    {"aten::maximum", TypedFunction::larger},
    {"aten::relu", TypedFunction::larger},  // than 0
    {"aten::bitwise_and", TypedFunction::common_bits},
    {"aten::__and__", TypedFunction::common_bits},
    {"aten::bitwise_or", TypedFunction::any_bits},
    {"aten::__or__", TypedFunction::any_bits},
    {"aten::bitwise_xor", TypedFunction::different_bits},
    {"aten::__xor__", TypedFunction::different_bits},
    {"aten::lt", TypedFunction::less},
    {"aten::le", TypedFunction::less_equal},
    {"aten::gt", TypedFunction::greater},
    {"aten::ge", TypedFunction::greater_equal},
    {"aten::eq", TypedFunction::equal},
    {"aten::ne", TypedFunction::not_equal},
    {"aten::logical_and", TypedFunction::both},
    {"aten::bitwise_and", TypedFunction::both},
    {"aten::__and__", TypedFunction::both},
    {"aten::logical_or", TypedFunction::either},
    {"aten::bitwise_or", TypedFunction::either},
    {"aten::__or__", TypedFunction::either},
    {"aten::logical_xor", TypedFunction::one_alone},
    {"aten::bitwise_xor", TypedFunction::one_alone},
    {"aten::logical_not", TypedFunction::negated},
    {"aten::bitwise_not", TypedFunction::negated},
};

bool is_arithmetic(TypedFunction function) { return function <= TypedFunction::different_bits; }
bool is_logic(TypedFunction function) { return function >= TypedFunction::both; }

std::optional<TypedElement> element_of(Dtype dtype) {
  constexpr std::pair<Dtype, TypedElement> kElements[] = {
      {Dtype::bool_, TypedElement::boolean}, {Dtype::int64, TypedElement::whole},
      {Dtype::float32, TypedElement::real},  {Dtype::int32, TypedElement::medium},
      {Dtype::int8, TypedElement::small},    {Dtype::uint8, TypedElement::byte}};
  for (const auto& [known, element] : kElements)
    if (known == dtype) return element;
  return std::nullopt;
}

// Whether the function takes such elements as PyTorch's operator does.
bool takes(TypedFunction function, TypedElement element) {
  if (is_logic(function)) return element == TypedElement::boolean;
  if (element == TypedElement::boolean) return false;
  return !is_arithmetic(function) || element != TypedElement::real;
}

bool is_tensor(const Tensor* tensor) {
  return tensor != nullptr && tensor->defined() && tensor->numel() > 0 &&
         !tensor->is_wrapped_number() && is_aligned(*tensor);
}

// Nothing where the argument is no whole number in this call.
std::optional<int64_t> whole_number(const Frame& frame, const BoundArgument& argument) {
  const auto id = Frame::value_id(argument);
  if (!id && argument.dynamic != nullptr) return std::nullopt;
  const Value& value = id ? frame.values[static_cast<size_t>(*id)] : argument.constant;
  if (const auto* whole = value.get_if<int64_t>()) return *whole;
  const auto* tensor = value.get_if<Tensor>();
  if (tensor == nullptr || !tensor->is_wrapped_number() || tensor->dtype() != Dtype::int64)
    return std::nullopt;
  int64_t number = 0;
  ops::load_elements(tensor->raw_data(), 1, Dtype::int64, 1, &number);
  return number;
}

// A number of this call as an element of the dtype, where PyTorch would not take another one for
// it.
std::optional<std::array<std::byte, 8>> number_as(const Frame& frame, const BoundArgument& argument,
                                                  Dtype dtype) {
  const DtypeCategory category = dtype_category(dtype);
  if (category != DtypeCategory::integer && category != DtypeCategory::floating)
    return std::nullopt;
  std::array<std::byte, 8> out{};
  if (category == DtypeCategory::floating) {
    const auto number = number_in(frame, argument);
    if (!number) return std::nullopt;
    ops::store_elements(&*number, 1, dtype, 1, out.data());
    return out;
  }
  const auto whole = whole_number(frame, argument);
  if (!whole) return std::nullopt;
  int64_t stored = 0;
  ops::store_elements(&*whole, 1, dtype, 1, out.data());
  ops::load_elements(out.data(), 1, dtype, 1, &stored);
  // What does not fit is an error, which the operator describes.
  return stored == *whole ? std::optional(out) : std::nullopt;
}

// An operand of this call, and how a loop sees it; null for a number, which is the same everywhere.
struct Seen {
  const Tensor* tensor;
  kernels::TypedOperand* operand;
};

// Sizes and strides of the loop over a row-major result; false where there are too many dimensions
// even when those that lie behind one another are joined.
bool set_loop(const Sizes& sizes, std::span<const Seen> operands,
              std::array<int64_t, kernels::kTypedDims>& loop) {
  int place = kernels::kTypedDims;
  for (size_t dim = sizes.size(); dim-- > 0;) {
    if (sizes[dim] == 1) continue;
    const auto stride = [&](const Seen& each) {
      return each.tensor == nullptr ? 0 : stride_along(*each.tensor, dim, sizes.size());
    };
    const auto inner = static_cast<size_t>(place);
    if (place < kernels::kTypedDims && std::ranges::all_of(operands, [&](const Seen& each) {
          return stride(each) == loop[inner] * each.operand->strides[inner];
        })) {
      loop[inner] *= sizes[dim];
      continue;
    }
    if (place == 0) return false;
    const auto outer = static_cast<size_t>(--place);
    loop[outer] = sizes[dim];
    for (const Seen& each : operands) each.operand->strides[outer] = stride(each);
  }
  return true;
}

class TypedStep final : public Step {
 public:
  TypedStep(const BoundNode& node, TypedFunction function) : Step({&node}), function_(function) {}

  std::string_view name() const override { return "pointwise"; }

  Result<bool> run(Frame& frame) const override {
    const Tensor* a = frame.tensor(first().arguments[0]);
    if (!is_tensor(a)) return false;
    const auto element = element_of(a->dtype());
    if (!element || !takes(function_, *element)) return false;
    // The other operand is 0, if there is one.
    const bool is_unary = first().arguments.size() == 1;
    const Tensor* b = is_unary ? nullptr : frame.tensor(first().arguments[1]);
    if (b != nullptr && b->is_wrapped_number()) b = nullptr;
    std::array<std::byte, 8> number{};
    if (!is_unary && b == nullptr) {
      const auto found = number_as(frame, first().arguments[1], a->dtype());
      if (!found) return false;
      number = *found;
    } else if (!is_unary && (!is_tensor(b) || b->dtype() != a->dtype())) {
      return false;
    }
    const auto sizes = b == nullptr ? Result<Sizes>(a->sizes())
                                    : ops::broadcast_sizes(std::array{a->sizes(), b->sizes()});
    TypedLoop loop{.function = function_, .element = *element};
    if (!sizes || !set_loop(*sizes, std::array{Seen{a, &loop.a}, Seen{b, &loop.b}}, loop.sizes))
      return false;
    Tensor out = frame.make(*sizes, {}, is_arithmetic(function_) ? a->dtype() : Dtype::bool_);
    loop.a.data = a->raw_data();
    loop.b.data = b == nullptr ? nullptr : b->raw_data();
    loop.out = out.raw_data();
    frame.launch([loop, number] {
      TypedLoop now = loop;
      if (now.b.data == nullptr) now.b.data = number.data();
      return kernels::run_typed(now);
    });
    frame.set(result(), std::move(out), false);
    return true;
  }

 private:
  TypedFunction function_;
};

// Elements of one tensor or number where a mask is true, of another elsewhere.
class ChoiceStep final : public Step {
 public:
  ChoiceStep(const BoundNode& node, const BoundArgument& mask, const BoundArgument& chosen,
             const BoundArgument& otherwise)
      : Step({&node}), mask_(mask), arguments_{&chosen, &otherwise} {}

  std::string_view name() const override { return "pointwise"; }

  Result<bool> run(Frame& frame) const override {
    const Tensor* mask = frame.tensor(mask_);
    if (!is_tensor(mask) || mask->dtype() != Dtype::bool_) return false;
    const Tensor* tensors[2];
    std::optional<Dtype> dtype;
    Sizes sizes = mask->sizes();
    for (size_t i = 0; i < 2; ++i) {
      tensors[i] = frame.tensor(*arguments_[i]);
      if (tensors[i] == nullptr) continue;
      if (!is_tensor(tensors[i]) || (dtype && *dtype != tensors[i]->dtype())) return false;
      dtype = tensors[i]->dtype();
      auto both = ops::broadcast_sizes(std::array{sizes, tensors[i]->sizes()});
      if (!both) return false;
      sizes = *std::move(both);
    }
    if (!dtype || dtype_size(*dtype) > 8) return false;
    std::array<std::array<std::byte, 8>, 2> numbers{};
    for (size_t i = 0; i < 2; ++i) {
      if (tensors[i] != nullptr) continue;
      const auto found = number_as(frame, *arguments_[i], *dtype);
      if (!found) return false;
      numbers[i] = *found;
    }
    kernels::TypedChoice choice{.bytes = static_cast<size_t>(dtype_size(*dtype))};
    if (!set_loop(sizes,
                  std::array{Seen{mask, &choice.mask}, Seen{tensors[0], &choice.a},
                             Seen{tensors[1], &choice.b}},
                  choice.sizes))
      return false;
    Tensor out = frame.make(std::move(sizes), {}, *dtype);
    choice.mask.data = mask->raw_data();
    choice.a.data = tensors[0] == nullptr ? nullptr : tensors[0]->raw_data();
    choice.b.data = tensors[1] == nullptr ? nullptr : tensors[1]->raw_data();
    choice.out = out.raw_data();
    frame.launch([choice, numbers] {
      kernels::TypedChoice now = choice;
      if (now.a.data == nullptr) now.a.data = numbers[0].data();
      if (now.b.data == nullptr) now.b.data = numbers[1].data();
      kernels::run_choice(now);
    });
    frame.set(result(), std::move(out), false);
    return true;
  }

 private:
  const BoundArgument& mask_;
  std::array<const BoundArgument*, 2> arguments_;
};

StepPointer make_choice(const BoundNode& node) {
  const auto argument = [&](std::string_view name) -> const BoundArgument& {
    return *Planner::argument(node, name);
  };
  for (const std::string_view overload : {"self", "ScalarOther", "ScalarSelf"})
    if (is_operator(node, "aten::where", overload))
      return std::make_unique<ChoiceStep>(node, argument("condition"), argument("self"),
                                          argument("other"));
  if (is_operator(node, "aten::masked_fill", "Scalar"))
    return std::make_unique<ChoiceStep>(node, argument("mask"), argument("value"),
                                        argument("self"));
  return nullptr;
}

}  // namespace

StepPointer make_typed(const Planner& planner, const BoundNode& node) {
  if (StepPointer choice = make_choice(node)) return choice;
  const TensorMeta *made = planner.record(node),
                   *taken = node.arguments.empty() ? nullptr : planner.record(node.arguments[0]);
  if (made == nullptr || taken == nullptr) return nullptr;
  const auto result = made->dtype.dtype(), operand = taken->dtype.dtype();
  const auto element = operand ? element_of(*operand) : std::nullopt;
  if (!result || !element || (*result != Dtype::bool_ && *result != *operand) ||
      *result == Dtype::float32)
    return nullptr;
  for (const auto& row : kFunctions) {
    const bool is_it = is_operator(node, row.name) || is_operator(node, row.name, "Tensor") ||
                       is_operator(node, row.name, "Scalar");
    if (!is_it || !takes(row.function, *element)) continue;
    const bool scales =
        row.function == TypedFunction::add || row.function == TypedFunction::subtract;
    if (scales && planner.number(node, "alpha") != 1.0) return nullptr;
    return std::make_unique<TypedStep>(node, row.function);
  }
  return nullptr;
}

}  // namespace pt2::run
