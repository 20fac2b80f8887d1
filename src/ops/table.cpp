#include "ops/table.h"

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include "base/memory_account.h"
#include "base/platform.h"
#include "ops/checks.h"
#include "ops/forms/out_forms.h"
#include "ops/loops.h"
#include "ops/memory_format.h"
#include "ops/pointwise/copying.h"

namespace pt2::ops {

#define PT2_OP_FAMILY(name, values, purpose) std::span<const OpDef> name##_ops();
#include "ops/families.def"

namespace {

// Rows sorted by their full name, built on first use: a few hundred pointers.
struct Index {
  std::vector<std::pair<std::string, const OpDef*>> rows;
  Index() {
    for (const Family& family : families())
      for (const OpDef& def : family.rows) rows.emplace_back(target_of(*def.signature), &def);
    std::ranges::sort(rows);
  }
  const OpDef* find(std::string_view target) const {
    auto it = std::ranges::lower_bound(rows, target, {},
                                       [](const auto& row) { return std::string_view(row.first); });
    return it != rows.end() && it->first == target ? it->second : nullptr;
  }
};

const Index& index() {
  static const Index kIndex;
  return kIndex;
}

// "torch.ops.aten.add_.Tensor" without `suffix` at the end of the operator's name ("add_"). Empty
// if the name does not end with `suffix`.
std::string without_suffix(std::string_view target, std::string_view suffix) {
  const size_t dot = target.rfind('.');
  if (dot == std::string_view::npos || !target.substr(0, dot).ends_with(suffix)) return {};
  return std::string(target.substr(0, dot - suffix.size())) + std::string(target.substr(dot));
}

// True if each element of the result depends only on the same element of self and on numbers.
bool is_pointwise_unary(const Signature& signature) {
  for (const Parameter& parameter : signature) {
    const bool number =
        parameter.type.base == BaseType::scalar || parameter.type.base == BaseType::number;
    if (&parameter != signature.begin() && !number) return false;
  }
  return true;
}

Result<std::vector<Value>> call_in_place(const OpDef& def, Context& context,
                                         std::span<const Value> arguments);

// Runs the operator on one slice of self at a time. If several elements of an expanded self share a
// memory location, the location is written once for each of them, as in PyTorch's loop.
Result<std::vector<Value>> call_on_slices(const OpDef& def, Context& context,
                                          std::span<const Value> arguments) {
  const Tensor& self = *arguments[0].get_if<Tensor>();
  std::vector<Value> slice_arguments(arguments.begin(), arguments.end());
  for (int64_t i = 0; i < self.size(0); ++i) {
    slice_arguments[0] = Value(self.with_view({self.sizes().begin() + 1, self.sizes().end()},
                                              {self.strides().begin() + 1, self.strides().end()},
                                              self.storage_offset() + i * self.stride(0)));
    PT2_TRY_VOID(call_in_place(def, context, slice_arguments));
  }
  return std::vector<Value>{Value(self)};
}

bool shares_storage(const Value& value, const Tensor& tensor) {
  if (const auto* list = value.get_if<Value::List>())
    return std::ranges::any_of(*list,
                               [&](const Value& item) { return shares_storage(item, tensor); });
  const auto* other = value.get_if<Tensor>();
  return other != nullptr && other->storage() == tensor.storage();
}

// True if the row can change a part of self while it reads the other arguments: most of a large
// tensor then stays as it is.
bool can_change(const OpDef& def, const Tensor& self, std::span<const Value> others) {
  return def.change_boxed != nullptr && self.defined() && !self.storage()->is_read_only() &&
         !may_overlap(self) && std::ranges::none_of(others, [&](const Value& each) {
           return shares_storage(each, self);
         });
}

Result<std::vector<Value>> call_in_place(const OpDef& def, Context& context,
                                         std::span<const Value> arguments) {
  Tensor self = *arguments[0].get_if<Tensor>();
  if (has_internal_overlap(self) && !def.facts.overwrites)
    return operator_error("several elements of self lie at one place in memory: strides " +
                          sizes_text(self.strides()) + ", expected a tensor that was not expanded");
  if (self.numel() > 0 && is_pointwise_unary(*def.signature) && may_overlap(self))
    return call_on_slices(def, context, arguments);
  if (const auto others = arguments.subspan(1); can_change(def, self, others)) {
    PT2_TRY_VOID(def.change_boxed(def, self, others));
    return std::vector<Value>{Value(std::move(self))};
  }
  PT2_TRY(std::vector<Value> results, def.compute(context, arguments));
  const Tensor& result = *results[0].get_if<Tensor>();
  if (result.sizes() != self.sizes())
    return operator_error("an in-place result of sizes " + sizes_text(result.sizes()) +
                          " does not fit self of sizes " + sizes_text(self.sizes()));
  if (dtype_category(result.dtype()) > dtype_category(self.dtype()))
    return operator_error("an in-place result of dtype " + std::string(dtype_name(result.dtype())) +
                          " cannot be stored in self of dtype " +
                          std::string(dtype_name(self.dtype())));
  copy_elements(self, result);
  return std::vector<Value>{Value(std::move(self))};
}

Result<std::vector<Value>> call_copy(const OpDef& def, Context& context,
                                     std::span<const Value> arguments) {
  PT2_TRY(std::vector<Value> results, def.compute(context, arguments));
  auto copy = [](Value& value) -> Result<void> {
    auto* tensor = value.get_if<Tensor>();
    if (tensor == nullptr) return {};
    PT2_TRY(*tensor, copy_as(*tensor, tensor->dtype(), MemoryFormat::contiguous));
    return {};
  };
  for (Value& value : results) {
    PT2_TRY_VOID(copy(value));
    if (auto* list = value.get_if<Value::List>())
      for (Value& item : *list) PT2_TRY_VOID(copy(item));
  }
  return results;
}

}  // namespace

std::span<const Family> families() {
  enum Values : bool { some, any };
  static const std::array kFamilies = {
#define PT2_OP_FAMILY(name, values, purpose) \
  Family{#name, name##_ops(), Values::values == Values::any},
#include "ops/families.def"
  };
  return kFamilies;
}

const Family* find_family(const OpDef& def) {
  const auto has = [&](const Family& family) {
    return !family.rows.empty() && !std::less<>()(&def, family.rows.data()) &&
           std::less<>()(&def, family.rows.data() + family.rows.size());
  };
  const auto found = std::ranges::find_if(families(), has);
  return found == families().end() ? nullptr : &*found;
}

bool takes_any_values(const OpDef& def) {
  const Family* family = find_family(def);
  return family != nullptr && family->takes_any_values;
}

namespace {

struct Alias {
  std::string_view name;
  std::string_view target;
};
constexpr Alias kAliases[] = {
#define PT2_OP_ALIAS(name, target) {name, target},
#include "ops/forms/aliases.def"
};

// True if the operator maps a tensor `self` to one new tensor, so that the result can be stored in
// `self`.
bool has_in_place_form(const Signature& signature) {
  constexpr ArgumentType kTensor{BaseType::tensor};
  return signature.parameter_count > 0 && signature.return_count == 1 && !signature.may_alias() &&
         signature.parameter_array[0].name == "self" &&
         signature.parameter_array[0].type.same_shape(kTensor) &&
         signature.return_array[0].same_shape(kTensor);
}
bool is_view(const Signature& signature) {
  return signature.may_alias() && !signature.is_mutable();
}

Operator find_row(std::string_view target) {
  using Form = Operator::Form;
  if (const OpDef* def = index().find(target)) return {def, Form::as_written};
  if (const std::string functional = without_suffix(target, "_"); !functional.empty())
    if (const OpDef* def = index().find(functional); def && has_in_place_form(*def->signature))
      return {def, Form::in_place};
  if (const std::string view = without_suffix(target, "_copy"); !view.empty())
    if (const OpDef* def = index().find(view); def && is_view(*def->signature))
      return {def, Form::copy};
  return {};
}

// The target that an alias of an aten operator stands for; empty if `target` is no alias.
std::string resolve_alias(std::string_view target) {
  constexpr std::string_view kPrims = "torch.ops.prims.";
  constexpr std::string_view kOnlyOverload = ".default";
  std::string_view whole;
  if (target.starts_with(kAtenTargets))
    whole = target.substr(kAtenTargets.size());
  else if (target.starts_with(kPrims) && target.ends_with(kOnlyOverload))
    whole = target.substr(kPrims.find("prims"),
                          target.size() - kOnlyOverload.size() - kPrims.find("prims"));
  const size_t dot = whole.find('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view name = whole.substr(0, dot);
  const bool in_place = name.ends_with('_') && !name.ends_with("__");
  const std::string_view plain = in_place ? name.substr(0, name.size() - 1) : name;
  for (const Alias& alias : kAliases) {
    if (alias.name == whole) return std::string(kAtenTargets) + std::string(alias.target);
    if (alias.name == plain)
      return std::string(kAtenTargets) + std::string(alias.target) + (in_place ? "_" : "") +
             std::string(whole.substr(dot));
  }
  return {};
}

Operator find_without_outs(std::string_view target) {
  if (const Operator op = find_row(target)) return op;
  const std::string resolved = resolve_alias(target);
  return resolved.empty() ? Operator{} : find_row(resolved);
}

}  // namespace

Operator find_operator(std::string_view target) {
  if (const Operator op = find_without_outs(target)) return op;
  for (const std::string& functional : functional_targets(target)) {
    const Operator op = find_without_outs(functional);
    if (!op || op.form == Operator::Form::in_place) continue;
    if (auto signature = make_out_form(target, *op.def))
      return {op.def, Operator::Form::with_outs, nullptr, std::move(signature)};
  }
  return {};
}

namespace {

// Error `limit` for views that are too large. In an expanded view, one stored element can stand for
// any number of elements, and kernels would spend memory and time on all of them. Where each
// element is stored, the account has counted them.
Result<void> check_extent(const Value& value) {
  constexpr uint64_t kWidest = 16;
  if (const auto* tensor = value.get_if<Tensor>()) {
    const auto numel = static_cast<uint64_t>(tensor->numel());
    const auto width = static_cast<uint64_t>(dtype_size(tensor->dtype()));
    const uint64_t stored = tensor->storage() == nullptr ? 0 : tensor->storage()->size() / width;
    if (numel > stored && numel > MemoryAccount::current()->limit() / kWidest)
      return Error{
          ErrorCode::limit,
          "an argument of " + tensor->type_text() + " shows " + std::to_string(stored) +
              " stored elements; with 16 bytes for each that it shows, it is larger than " +
              MemoryAccount::limit_text(),
          ""};
  } else if (const auto* list = value.get_if<Value::List>()) {
    for (const Value& item : *list) PT2_TRY_VOID(check_extent(item));
  }
  return {};
}

Result<void> check_ranks(std::span<const Value> values) {
  for (const Value& value : values) {
    if (const auto* tensor = value.get_if<Tensor>()) PT2_TRY_VOID(check_real_rank(tensor->dim()));
    if (const auto* list = value.get_if<Value::List>()) PT2_TRY_VOID(check_ranks(*list));
  }
  return {};
}

// True if the operator only returns views: it reads no elements.
bool only_views(const Operator& op) {
  return is_view(op.signature()) && op.form == Operator::Form::as_written;
}

Result<std::vector<Value>> dispatch(const Operator& op, Context& context,
                                    std::span<const Value> arguments) {
  if (!only_views(op))
    for (const Value& argument : arguments) PT2_TRY_VOID(check_extent(argument));
  switch (op.form) {
    case Operator::Form::as_written:
      return op.def->compute(context, arguments);
    case Operator::Form::in_place:
      return call_in_place(*op.def, context, arguments);
    case Operator::Form::copy:
      return call_copy(*op.def, context, arguments);
    case Operator::Form::with_outs:
      return call_with_outs(*op.def, op.signature(), context, arguments);
  }
  return std::vector<Value>{};
}

// The generator that the call itself names; null if it names none.
const Object* find_generator(const Operator& op, std::span<const Value> arguments) {
  if (!op.may_draw()) return nullptr;
  for (size_t i = 0; i < op.signature().parameter_count; ++i)
    if (op.signature().parameter_array[i].type.base == BaseType::generator)
      return arguments[i].get_if<Object>();
  return nullptr;
}

// Runs the operator with the state of `generator`, and writes the new state back. The state is a
// mutable tensor.
Result<std::vector<Value>> dispatch_with(const Object& generator, const Operator& op,
                                         Context& context, std::span<const Value> arguments) {
  const auto* state = generator->state.get_if<Tensor>();
  if (state == nullptr || !state->defined() || state->storage()->is_read_only())
    return operator_error("the generator has no state that can be written to");
  Tensor memory = *state;
  const std::span bytes(memory.raw_data(), static_cast<size_t>(memory.nbytes()));
  PT2_TRY(RandomState drawn_from, RandomState::read(bytes));
  std::optional<RandomState> random_state = std::move(drawn_from);
  std::swap(context.random_state, random_state);
  Result<std::vector<Value>> results = dispatch(op, context, arguments);
  std::swap(context.random_state, random_state);
  random_state->write(bytes);
  return results;
}

// The cost of the items of lists, in elements: each is copied, and tensors are made. A list may
// have a million views, or tensors without elements.
uint64_t work_of_items(std::span<const Value> values) {
  constexpr uint64_t kTensor = 128, kOther = 8;
  uint64_t out = 0;
  for (const Value& value : values) {
    const auto* list = value.get_if<Value::List>();
    if (list == nullptr) continue;
    for (const Value& item : *list) out += item.is<Tensor>() ? kTensor : kOther;
    out += work_of_items(*list);
  }
  return out;
}

// To be called for what a call takes and for what it gives.
Result<void> count_values(std::span<const Value> values) {
  MemoryAccount::count_work(work_of_items(values));
  return check_ranks(values);
}

}  // namespace

uint64_t elements_of(std::span<const Value> values) {
  uint64_t out = 0;
  for (const Value& value : values) {
    if (const auto* tensor = value.get_if<Tensor>())
      out = saturating_sum(out, static_cast<uint64_t>(tensor->numel()));
    if (const auto* list = value.get_if<Value::List>())
      out = saturating_sum(out, elements_of(*list));
  }
  return out;
}

Result<std::vector<Value>> call(const Operator& op, Context& context,
                                std::span<const Value> arguments) {
  // A loop over operands of any strides and dtypes takes a few nanoseconds for each element, and
  // more where rows are short.
  constexpr uint64_t kElementWork = 8;
  constexpr uint64_t kDrawWork = 16;
  // A call within a run counts against the account of the run; any other call gets an account of
  // its own.
  std::optional<MemoryAccount::Scope> own;
  if (MemoryAccount::current() == nullptr)
    own.emplace(std::make_shared<MemoryAccount>(context.max_tensor_bytes));
  const AllocationLimit limit(context.max_tensor_bytes);
  const Object* generator = find_generator(op, arguments);
  return within_memory([&]() -> Result<std::vector<Value>> {
    PT2_TRY_VOID(count_values(arguments));
    if (only_views(op)) {
      PT2_TRY(std::vector<Value> views, dispatch(op, context, arguments));
      PT2_TRY_VOID(count_values(views));
      return views;
    }
    const uint64_t draws = op.may_draw() ? kDrawWork : 0;
    MemoryAccount::count_work(
        saturating_product(elements_of(arguments), kElementWork + op.def->facts.work + draws));
    PT2_TRY(std::vector<Value> results, generator == nullptr
                                            ? dispatch(op, context, arguments)
                                            : dispatch_with(*generator, op, context, arguments));
    MemoryAccount::count_work(saturating_product(elements_of(results), kElementWork + draws));
    PT2_TRY_VOID(count_values(results));
    return results;
  });
}

}  // namespace pt2::ops
