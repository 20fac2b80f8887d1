// Facts about views (ops/facts.h), measured: how to recompute the base after a view of it changed.
#include <gtest/gtest.h>

#include <set>

#include "ops/facts.h"
#include "ops/listed_calls.h"
#include "ops/loops.h"
#include "ops/row_calls.h"

namespace pt2::ops {
namespace {

std::optional<Tensor> tensor_from(const std::string& target, const std::vector<Value>& arguments) {
  if (!find_operator(target)) return std::nullopt;
  const auto results = run(target, arguments);
  if (!results || results->size() != 1 || !(*results)[0].is<Tensor>()) return std::nullopt;
  return *(*results)[0].get_if<Tensor>();
}

std::vector<Tensor> parts_of(const std::vector<Value>& results) {
  std::vector<Tensor> out;
  for (const Value& result : results)
    for_each_tensor(result, [&](const Tensor& part) { out.push_back(part); });
  return out;
}

// A call of a view operator, and the views after a write to them.
struct ChangedView {
  const Row& row;
  const Arguments& call;      // before the write
  std::vector<Tensor> parts;  // copies of the views after the write
  Tensor whole;               // the base before the write

  const Value& argument(std::string_view name) const {
    const Signature& signature = *row.def->signature;
    const Parameter* found = signature.find(name);
    static const Value kNone;
    return found == nullptr ? kNone : call[static_cast<size_t>(found - signature.parameter_array)];
  }
  int64_t dim() const {
    const auto* given = argument("dim").get_if<int64_t>();
    return given == nullptr ? 0 : *given;
  }
  // Returns the same view of another tensor.
  std::optional<Tensor> again(const Tensor& self) const {
    Arguments arguments = call;
    arguments[0] = Value(self);
    return tensor_from(row.target, arguments);
  }
};

std::optional<Tensor> permuted_back(const ChangedView& view) {
  const auto* dims = view.argument("dims").get_if<Value::List>();
  if (dims == nullptr) return std::nullopt;
  const auto rank = static_cast<int64_t>(dims->size());
  Sizes inverse(dims->size());
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t dim = *(*dims)[static_cast<size_t>(i)].get_if<int64_t>();
    inverse[static_cast<size_t>(dim < 0 ? dim + rank : dim)] = i;
  }
  return tensor_from("torch.ops.aten.permute.default", {Value(view.parts[0]), ints(inverse)});
}

std::optional<Tensor> moved_back(const ChangedView& view) {
  if (view.argument("source").is_none()) return std::nullopt;
  return tensor_from(view.row.target,
                     {Value(view.parts[0]), view.argument("destination"), view.argument("source")});
}

std::optional<Tensor> scattered_into(const ChangedView& view, std::string_view scatter) {
  std::vector<Value> arguments{Value(view.whole), Value(view.parts[0])};
  arguments.insert(arguments.end(), view.call.begin() + 1, view.call.end());
  return tensor_from("torch.ops.aten." + std::string(scatter) + ".default", std::move(arguments));
}

std::optional<Tensor> narrowed_into(const ChangedView& view) {
  const auto *start = view.argument("start").get_if<int64_t>(),
             *length = view.argument("length").get_if<int64_t>();
  if (start == nullptr || length == nullptr) return std::nullopt;
  const int64_t begin = *start < 0 ? *start + view.whole.size(view.dim()) : *start;
  return tensor_from("torch.ops.aten.slice_scatter.default",
                     {Value(view.whole), Value(view.parts[0]), Value(view.dim()), Value(begin),
                      Value(begin + *length), Value(int64_t{1})});
}

// Writes all parts back into the base in their order.
std::optional<Tensor> pieced_together(const ChangedView& view, bool by_slices) {
  Tensor whole = view.whole;
  const int64_t rank = whole.dim(), dim = view.dim() < 0 ? view.dim() + rank : view.dim();
  if (dim < 0 || dim >= rank) return std::nullopt;
  int64_t start = 0;
  for (const Tensor& part : view.parts) {
    if (part.dim() != (by_slices ? rank : rank - 1)) return std::nullopt;
    const int64_t length = by_slices ? part.size(dim) : 1;
    auto next = by_slices ? tensor_from("torch.ops.aten.slice_scatter.default",
                                        {Value(whole), Value(part), Value(dim), Value(start),
                                         Value(start + length), Value(int64_t{1})})
                          : tensor_from("torch.ops.aten.select_scatter.default",
                                        {Value(whole), Value(part), Value(dim), Value(start)});
    if (!next) return std::nullopt;
    whole = *std::move(next);
    start += length;
  }
  return whole;
}

// Returns one of the elements that stand for the same element of the base, each.
std::optional<Tensor> unexpanded(const ChangedView& view) {
  const Tensor& part = view.parts[0];
  const int64_t added = part.dim() - view.whole.dim();
  if (added < 0) return std::nullopt;
  Sizes strides(part.strides().begin() + added, part.strides().end());
  for (int64_t dim = 0; dim < view.whole.dim(); ++dim)
    if (view.whole.size(dim) != 1 && view.whole.size(dim) != part.size(added + dim))
      return std::nullopt;
  return part.with_view(view.whole.sizes(), strides, part.storage_offset()).clone();
}

std::optional<Tensor> recomputed(Inverse inverse, const ChangedView& view) {
  switch (inverse) {
    case Inverse::none:
      return std::nullopt;
    case Inverse::same:
      return view.parts[0];
    case Inverse::expand:
      return unexpanded(view);
    case Inverse::reshape:
      return tensor_from("torch.ops.aten.reshape.default",
                         {Value(view.parts[0]), ints(view.whole.sizes())});
    case Inverse::repeat:
      return view.again(view.parts[0]);
    case Inverse::permute:
      return permuted_back(view);
    case Inverse::move:
      return moved_back(view);
    case Inverse::scatter:
      return scattered_into(view, view.row.def->facts.scatter);
    case Inverse::narrow:
      return narrowed_into(view);
    case Inverse::pieces:
      return pieced_together(view, true);
    case Inverse::unbind:
      return pieced_together(view, false);
  }
  return std::nullopt;
}

// True if `inverse` recomputes the base after each call. Nothing (nullopt) if no call gives a view.
std::optional<bool> inverts(const Row& row, Inverse inverse) {
  std::optional<bool> out;
  for (const Arguments& call : row.calls) {
    const auto* self = call.empty() ? nullptr : call[0].get_if<Tensor>();
    const auto seen =
        self == nullptr || self->numel() == 0 ? std::nullopt : observe(*row.def, call);
    if (!seen || !shares_memory(seen->results[0], seen->arguments[0])) continue;
    const auto& base = *seen->arguments[0].get_if<Tensor>();
    if (row.def->facts.sharing == Sharing::unless_complex &&
        dtype_category(base.dtype()) == DtypeCategory::complex)
      continue;
    std::vector<Tensor> shown = parts_of(seen->results), parts;
    uint64_t seed = 0;
    for (Tensor& part : shown) {
      copy_elements(part, with_other_elements(part, ++seed));
    }
    for (const Tensor& part : shown) parts.push_back(part.clone());
    const ChangedView view{row, call, parts, *self};
    const auto found = recomputed(inverse, view);
    const bool holds =
        found && found->dtype() == base.dtype() && are_equal(Value(*found), Value(base));
    out = out.value_or(true) && holds;
  }
  return out;
}

// Rows whose available calls cannot decide which inverse is right.
const std::set<std::string> kNotMeasured = {
    "torch.ops.aten._reshape_alias.default",  // made-up strides are not those of a reshape
    "torch.ops.aten.tensor_split.indices",    // unordered indices give parts that overlap
    "torch.ops.aten.tensor_split.tensor_indices_or_sections",  // all calls give one part
    "torch.ops.aten.vsplit.int",                               // its implied dim is always 0
};

// True if the row may state an inverse. Rows with other kinds of conditional sharing have none:
// functionalize relies on that condition instead.
bool may_have_inverse(const OpDef& def) {
  const Sharing sharing = def.facts.sharing;
  // functionalize does not track views made by operators of other namespaces.
  const bool is_aten = def.signature->name.starts_with("aten::");
  return is_aten && !kNotMeasured.contains(target_of(*def.signature)) && def.is_view() &&
         (sharing == Sharing::as_signed || sharing == Sharing::always ||
          sharing == Sharing::unless_complex);
}

TEST(FactsOfViews, InversesRecomputeTheBase) {
  constexpr Inverse kAll[] = {Inverse::same,    Inverse::expand, Inverse::reshape, Inverse::repeat,
                              Inverse::permute, Inverse::move,   Inverse::scatter, Inverse::narrow,
                              Inverse::pieces,  Inverse::unbind};
  for (const Row& row : rows_where(may_have_inverse)) {
    const Inverse inverse = row.def->facts.inverse;
    if (inverse != Inverse::none) {
      EXPECT_TRUE(inverts(row, inverse).value_or(row.shares_in_pytorch))
          << row.target << " is not inverted as its row says";
      continue;
    }
    for (const Inverse each : kAll)
      EXPECT_FALSE(inverts(row, each).value_or(false))
          << row.target << " has an inverse, number " << static_cast<int>(each)
          << ", which its row does not say";
  }
}

}  // namespace
}  // namespace pt2::ops
