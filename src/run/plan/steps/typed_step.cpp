// Comparisons, logic, integer arithmetic, and sums, differences and products of complex numbers.
#include <algorithm>
#include <array>
#include <span>
#include <vector>

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
  int64_t number = 0;  // the second operand of operators with one argument
} kFunctions[] = {
    {"aten::add", TypedFunction::add},
    {"aten::sub", TypedFunction::subtract},
    {"aten::rsub", TypedFunction::subtract_from},
    {"aten::neg", TypedFunction::subtract_from},
    {"aten::mul", TypedFunction::multiply},
    {"aten::minimum", TypedFunction::smaller},
    {"aten::maximum", TypedFunction::larger},
    {"aten::clamp_max", TypedFunction::smaller},
    {"aten::clamp_min", TypedFunction::larger},
    {"aten::relu", TypedFunction::larger},
    {"aten::bitwise_and", TypedFunction::common_bits},
    {"aten::__and__", TypedFunction::common_bits},
    {"aten::bitwise_or", TypedFunction::any_bits},
    {"aten::__or__", TypedFunction::any_bits},
    {"aten::bitwise_xor", TypedFunction::different_bits},
    {"aten::__xor__", TypedFunction::different_bits},
    {"aten::bitwise_not", TypedFunction::different_bits, -1},
    {"aten::bitwise_left_shift", TypedFunction::shift_left},
    {"aten::__lshift__", TypedFunction::shift_left},
    {"aten::bitwise_right_shift", TypedFunction::shift_right},
    {"aten::__rshift__", TypedFunction::shift_right},
    {"aten::sign", TypedFunction::order},
    {"aten::sgn", TypedFunction::order},
    {"aten::abs", TypedFunction::magnitude},
    {"aten::logical_not", TypedFunction::negated},
    {"aten::bitwise_not", TypedFunction::negated},
};

bool is_arithmetic(TypedFunction function) { return function <= TypedFunction::between; }
bool is_logic(TypedFunction function) { return function >= TypedFunction::both; }

std::optional<TypedElement> element_of(Dtype dtype) {
  constexpr std::pair<Dtype, TypedElement> kElements[] = {
      {Dtype::bool_, TypedElement::boolean},       {Dtype::int64, TypedElement::whole},
      {Dtype::float32, TypedElement::real},        {Dtype::int32, TypedElement::medium},
      {Dtype::int16, TypedElement::narrow},        {Dtype::int8, TypedElement::small},
      {Dtype::uint8, TypedElement::byte},          {Dtype::complex64, TypedElement::pair},
      {Dtype::complex128, TypedElement::wide_pair}};
  for (const auto& [known, element] : kElements)
    if (known == dtype) return element;
  return std::nullopt;
}

// True if the function computes with such elements as PyTorch's operator does. PyTorch computes
// bitwise functions of bools as logic.
bool takes(TypedFunction function, TypedElement element) {
  if (element == TypedElement::boolean) return !is_arithmetic(function);
  if (element >= TypedElement::pair) return function <= TypedFunction::multiply;
  return element != TypedElement::real || !(is_arithmetic(function) || is_logic(function));
}

bool is_tensor(const Tensor* tensor) {
  return tensor != nullptr && tensor->defined() && tensor->numel() > 0 &&
         !tensor->is_wrapped_number() && is_aligned(*tensor);
}

// Returns nullopt if the argument is not an integer in this call.
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

using Number = std::array<std::byte, 16>;  // the bytes of one element

// Returns a number of this call as an element of the dtype; nullopt unless PyTorch would use the
// same number.
std::optional<Number> number_as(const Frame& frame, const BoundArgument& argument, Dtype dtype) {
  const DtypeCategory category = dtype_category(dtype);
  if (category != DtypeCategory::integer && category != DtypeCategory::floating)
    return std::nullopt;
  Number out{};
  if (category == DtypeCategory::floating) {
    const auto number = number_in(frame, argument, dtype);
    if (!number) return std::nullopt;
    ops::store_elements(&*number, 1, dtype, 1, out.data());
    return out;
  }
  const auto whole = whole_number(frame, argument);
  if (!whole) return std::nullopt;
  int64_t stored = 0;
  ops::store_elements(&*whole, 1, dtype, 1, out.data());
  ops::load_elements(out.data(), 1, dtype, 1, &stored);
  // A number that does not fit is an error, which the operator reports.
  return stored == *whole ? std::optional(out) : std::nullopt;
}

// An operand of this call, and its description in a loop. The tensor is null for a number.
struct Seen {
  const Tensor* tensor;
  kernels::TypedOperand* operand;
};

// Sets the sizes and strides of the loop over a row-major result. False if too many dimensions
// remain when adjacent ones are merged.
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

// The layout of a result.
struct Layout {
  Sizes sizes, strides;  // row-major if `strides` is empty
  bool is_rearranged = false;
};
// Sets up the loop that makes a result. The result has the layout of the tensors if these fill
// blocks of memory in the same way, else it is row-major. nullopt if there are too many dimensions.
// `first` is the argument of the first operand.
std::optional<Layout> lay_out(const Frame& frame, const BoundArgument& first,
                              std::span<const Seen> operands,
                              std::array<int64_t, kernels::kTypedDims>& loop) {
  const Tensor& model = *operands[0].tensor;
  const auto lies_alike = [&](const Seen& each) {
    return each.tensor == nullptr ||
           (each.tensor->sizes() == model.sizes() && each.tensor->strides() == model.strides());
  };
  if (fills_block(model) && std::ranges::all_of(operands, lies_alike)) {
    loop.back() = model.numel();
    for (const Seen& each : operands) each.operand->strides.back() = each.tensor == nullptr ? 0 : 1;
    const auto id = Frame::value_id(first);
    return Layout{model.sizes(), model.is_contiguous() ? Sizes() : model.strides(),
                  id && frame.is_rearranged(*id)};
  }
  Layout out;
  for (const Seen& each : operands) {
    if (each.tensor == nullptr) continue;
    auto both = ops::broadcast_sizes(std::array{out.sizes, each.tensor->sizes()});
    if (!both) return std::nullopt;
    out.sizes = *std::move(both);
  }
  return set_loop(out.sizes, operands, loop) ? std::optional(std::move(out)) : std::nullopt;
}

class TypedStep final : public Step {
 public:
  // The kernel's operands after `arguments` are `number`.
  TypedStep(const BoundNode& node, TypedFunction function, Dtype dtype,
            std::vector<const BoundArgument*> arguments, int64_t number)
      : Step({&node}), function_(function), dtype_(dtype), arguments_(std::move(arguments)) {
    ops::store_elements(&number, 1, dtype, 1, number_.data());
  }

  std::string_view name() const override { return "pointwise"; }

  Result<bool> run(Frame& frame) const override {
    TypedLoop loop{.function = function_, .element = *element_of(dtype_)};
    std::array<kernels::TypedOperand*, kMost> operands{&loop.a, &loop.b, &loop.c};
    std::array<Number, kMost> numbers;
    numbers.fill(number_);
    std::vector<Seen> seen;
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const Tensor* tensor = frame.tensor(*arguments_[i]);
      if (tensor != nullptr && tensor->is_wrapped_number()) tensor = nullptr;
      if (tensor == nullptr) {
        const auto found = number_as(frame, *arguments_[i], dtype_);
        if (!found || i == 0) return false;
        numbers[i] = *found;
      } else if (!is_tensor(tensor) || tensor->dtype() != dtype_) {
        return false;
      }
      seen.push_back({tensor, operands[i]});
      operands[i]->data = tensor == nullptr ? nullptr : tensor->raw_data();
    }
    const auto layout = lay_out(frame, *arguments_[0], seen, loop.sizes);
    if (!layout) return false;
    Tensor out = frame.make(layout->sizes, layout->strides,
                            is_arithmetic(function_) ? dtype_ : Dtype::bool_);
    loop.out = out.raw_data();
    frame.launch([loop, numbers] {
      TypedLoop now = loop;
      size_t i = 0;
      for (kernels::TypedOperand* operand : {&now.a, &now.b, &now.c}) {
        if (operand->data == nullptr) operand->data = numbers[i].data();
        ++i;
      }
      return kernels::run_typed(now);
    });
    frame.set(result(), std::move(out), layout->is_rearranged);
    return true;
  }

 private:
  static constexpr size_t kMost = 3;

  TypedFunction function_;
  Dtype dtype_;  // of the operands
  std::vector<const BoundArgument*> arguments_;
  Number number_{};
};

class ConversionStep final : public Step {
 public:
  ConversionStep(const BoundNode& node, Dtype from, Dtype to)
      : Step({&node}), from_(from), to_(to) {}

  std::string_view name() const override { return "pointwise"; }

  Result<bool> run(Frame& frame) const override {
    const BoundArgument& input = first().arguments[0];
    const Tensor* tensor = frame.tensor(input);
    if (!is_tensor(tensor) || tensor->dtype() != from_) return false;
    kernels::TypedConversion conversion{.from = *element_of(from_), .to = *element_of(to_)};
    const std::array seen{Seen{tensor, &conversion.operand}};
    const auto layout = lay_out(frame, input, seen, conversion.sizes);
    if (!layout) return false;
    Tensor out = frame.make(layout->sizes, layout->strides, to_);
    conversion.operand.data = tensor->raw_data();
    conversion.out = out.raw_data();
    frame.launch([conversion] { kernels::run_conversion(conversion); });
    frame.set(result(), std::move(out), layout->is_rearranged);
    return true;
  }

 private:
  Dtype from_, to_;
};

// Elements of one tensor or number where a mask is true, of another where it is false.
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
    std::array<Number, 2> numbers{};
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

StepPointer make_clamp(const Planner& planner, const BoundNode& node, Dtype dtype) {
  if (!takes(TypedFunction::between, *element_of(dtype))) return nullptr;
  std::vector<const BoundArgument*> arguments{&node.arguments[0]};
  const bool has_low = !planner.is_none(node, "min"), has_high = !planner.is_none(node, "max");
  if (has_low) arguments.push_back(&node.arguments[1]);
  if (has_high) arguments.push_back(&node.arguments[2]);
  if (arguments.size() == 1) return nullptr;
  const TypedFunction function = has_low && has_high ? TypedFunction::between
                                 : has_low           ? TypedFunction::larger
                                                     : TypedFunction::smaller;
  return std::make_unique<TypedStep>(node, function, dtype, std::move(arguments), 0);
}

bool are_whole(Dtype dtype) {
  return element_of(dtype) && dtype_category(dtype) < DtypeCategory::floating;
}

}  // namespace

StepPointer make_typed(const Planner& planner, const BoundNode& node) {
  if (StepPointer choice = make_choice(node)) return choice;
  const TensorMeta *made = planner.record(node),
                   *taken = node.arguments.empty() ? nullptr : planner.record(node.arguments[0]);
  if (made == nullptr || taken == nullptr) return nullptr;
  const auto result = made->dtype.dtype(), operand = taken->dtype.dtype();
  const auto element = operand ? element_of(*operand) : std::nullopt;
  if (!result || !element) return nullptr;
  if (const auto cast = cast_of(planner, node))
    // A cast to the operand's own dtype makes no copy.
    return cast == result && result != operand && are_whole(*result) && are_whole(*operand)
               ? std::make_unique<ConversionStep>(node, *operand, *result)
               : nullptr;
  if ((*result != Dtype::bool_ && *result != *operand) || *result == Dtype::float32) return nullptr;
  if (is_operator(node, "aten::clamp") || is_operator(node, "aten::clamp", "Tensor"))
    return make_clamp(planner, node, *operand);
  const auto make = [&](std::string_view name, TypedFunction function, int64_t number) {
    bool is_it = is_operator(node, name);
    for (const std::string_view overload : {"Tensor", "Scalar", "Tensor_Scalar"})
      is_it = is_it || is_operator(node, name, overload);
    const BoundArgument* alpha = is_it ? Planner::argument(node, "alpha") : nullptr;
    if (!is_it || !takes(function, *element) ||
        (alpha != nullptr && planner.number(node, "alpha") != 1.0))
      return StepPointer();
    std::vector<const BoundArgument*> arguments{&node.arguments[0]};
    if (node.arguments.size() > 1) arguments.push_back(&node.arguments[1]);
    if (is_complex(*operand) && planner.recorded_dtype(node.arguments[1]) != operand)
      return StepPointer();
    return StepPointer(
        std::make_unique<TypedStep>(node, function, *operand, std::move(arguments), number));
  };
  for (const auto& row : kFunctions)
    if (StepPointer step = make(row.name, row.function, row.number)) return step;
  for (const Condition& row : conditions())
    if (StepPointer step = make(row.name, row.typed, 0)) return step;
  return nullptr;
}

}  // namespace pt2::run
