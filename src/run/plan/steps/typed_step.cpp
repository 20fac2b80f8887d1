// Comparisons, logic and whole numbers.
#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/typed.h"
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

bool is_arithmetic(TypedFunction function) { return function <= TypedFunction::multiply; }
bool is_logic(TypedFunction function) { return function >= TypedFunction::both; }

std::optional<TypedElement> element_of(Dtype dtype) {
  if (dtype == Dtype::bool_) return TypedElement::boolean;
  if (dtype == Dtype::int64) return TypedElement::whole;
  return dtype == Dtype::float32 ? std::optional(TypedElement::real) : std::nullopt;
}

// Whether the function takes such elements as PyTorch's operator does.
bool takes(TypedFunction function, TypedElement element) {
  if (is_logic(function)) return element == TypedElement::boolean;
  return element == TypedElement::whole ||
         (element == TypedElement::real && !is_arithmetic(function));
}

bool is_tensor(const Tensor* tensor) {
  return tensor != nullptr && tensor->defined() && tensor->numel() > 0 &&
         !tensor->is_wrapped_number();
}

// A number of this call as an element; nothing where it is one of another kind.
std::optional<std::array<std::byte, 8>> number_of_call(const Frame& frame,
                                                       const BoundArgument& argument,
                                                       TypedElement element) {
  std::array<std::byte, 8> out{};
  const auto id = Frame::value_id(argument);
  const Value& value = id ? frame.values[static_cast<size_t>(*id)] : argument.constant;
  if (!id && argument.dynamic != nullptr) return std::nullopt;
  if (element == TypedElement::whole) {
    const auto* whole = value.get_if<int64_t>();
    if (whole == nullptr) return std::nullopt;
    std::memcpy(out.data(), whole, sizeof *whole);
    return out;
  }
  const auto number = element == TypedElement::real ? number_of(value) : std::nullopt;
  if (!number) return std::nullopt;
  const auto real = static_cast<float>(*number);
  std::memcpy(out.data(), &real, sizeof real);
  return out;
}

// Sizes and strides of the loop over a row-major result; false where there are too many dimensions
// even when those that lie behind one another are joined.
bool set_loop(const Sizes& sizes, const Tensor& a, const Tensor* b, TypedLoop& loop) {
  int place = kernels::kTypedDims;
  for (size_t dim = sizes.size(); dim-- > 0;) {
    if (sizes[dim] == 1) continue;
    const int64_t s = stride_along(a, dim, sizes.size()),
                  t = b == nullptr ? 0 : stride_along(*b, dim, sizes.size());
    if (place < kernels::kTypedDims) {
      const auto inner = static_cast<size_t>(place);
      if (s == loop.sizes[inner] * loop.a.strides[inner] &&
          t == loop.sizes[inner] * loop.b.strides[inner]) {
        loop.sizes[inner] *= sizes[dim];
        continue;
      }
    }
    if (place == 0) return false;
    const auto outer = static_cast<size_t>(--place);
    loop.sizes[outer] = sizes[dim];
    loop.a.strides[outer] = s;
    loop.b.strides[outer] = t;
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
    const bool is_unary = function_ == TypedFunction::negated;
    const Tensor* b = is_unary ? nullptr : frame.tensor(first().arguments[1]);
    std::array<std::byte, 8> number{};
    if (!is_unary && b == nullptr) {
      const auto found = number_of_call(frame, first().arguments[1], *element);
      if (!found) return false;
      number = *found;
    } else if (!is_unary && (!is_tensor(b) || b->dtype() != a->dtype())) {
      return false;
    }
    const auto sizes = b == nullptr ? Result<Sizes>(a->sizes())
                                    : ops::broadcast_sizes(std::array{a->sizes(), b->sizes()});
    TypedLoop loop{.function = function_, .element = *element};
    if (!sizes || !set_loop(*sizes, *a, b, loop)) return false;
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

}  // namespace

StepPointer make_typed(const Planner& planner, const BoundNode& node) {
  const TensorMeta *made = planner.record(node),
                   *taken = node.arguments.empty() ? nullptr : planner.record(node.arguments[0]);
  if (made == nullptr || taken == nullptr) return nullptr;
  const auto result = made->dtype.dtype(), operand = taken->dtype.dtype();
  const auto element = operand ? element_of(*operand) : std::nullopt;
  if (!result || !element || (*result != Dtype::bool_ && *result != Dtype::int64)) return nullptr;
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
