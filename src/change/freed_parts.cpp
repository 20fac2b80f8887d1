#include "change/freed_parts.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "change/sizes.h"
#include "ir/symbols/sym_int.h"
#include "lower/arguments.h"
#include "ops/table.h"

namespace pt2 {
namespace {

// Operators that put tensors, or copies of one, one behind the other.
constexpr std::string_view kRepeat = "torch.ops.aten.repeat.default";
constexpr std::string_view kAppending[] = {"torch.ops.aten.cat.default", kRepeat};

// The most sizes of a result that are tried as the place of the freed size. PyTorch's operators
// keep dims in 64 bits.
constexpr size_t kMostPlaces = 64;

// Returns the sizes at the export; nothing if one is not known or 0, or they make no tensor.
std::optional<std::vector<int64_t>> old_sizes_of(const TensorMeta& meta) {
  std::vector<int64_t> out;
  int64_t elements = 1;
  for (const SymInt& size : meta.sizes) {
    out.push_back(known_number(size).value_or(0));
    if (out.back() < 1 || __builtin_mul_overflow(elements, out.back(), &elements))
      return std::nullopt;
  }
  return out;
}
int64_t product_of(std::span<const int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies());
}

bool is_reshape(const Node& node) {
  const ops::Operator op = ops::find_operator(node.target);
  return op && op.def->is_view() &&
         (op.def->facts.inverse == ops::Inverse::reshape ||
          op.def->facts.sharing == ops::Sharing::where_strides_allow);
}

}  // namespace

// Returns the dim whose size the freed size is part of; nothing if there is none, or several.
std::optional<size_t> FreedParts::freed_dim(const TensorMeta& meta) const {
  const auto is_freed = [&](const SymInt& size) {
    return has_symbol(size.expr(), symbol_->symbol);
  };
  if (std::ranges::count_if(meta.sizes, is_freed) != 1) return std::nullopt;
  return static_cast<size_t>(std::ranges::find_if(meta.sizes, is_freed) - meta.sizes.begin());
}

bool FreedParts::is_appended(ValueId value) const {
  const Node* maker = find_maker(graph_, value);
  return maker != nullptr && std::ranges::find(kAppending, maker->target) != std::end(kAppending);
}

// Returns which sizes of a reshape's result the freed size of `taken` may be part of, the likeliest
// first. The order of the elements tells that: another size may fit all trials, and then batches
// mix. Several remain where the freed size was 1, or beside sizes of 1.
std::vector<FreedParts::Part> FreedParts::reshaped(ValueId taken, const TensorMeta& to) const {
  const TensorMeta* from = graph_.value(taken).tensor();
  if (from == nullptr || old_size_ == 0) return {};
  const auto dim = freed_dim(*from);
  const auto sizes = old_sizes_of(*from), made = old_sizes_of(to);
  if (!dim || !sizes || !made || product_of(*sizes) != product_of(*made) ||
      (*sizes)[*dim] % old_size_ != 0)
    return {};
  // What else the input's size is made of may lie before or behind the freed size.
  const int64_t others = (*sizes)[*dim] / old_size_;
  const int64_t behind = product_of(std::span(*sizes).subspan(*dim + 1));
  const auto known = inner_.find(taken);
  std::vector<Part> fitting;
  for (size_t k = 0; k < made->size() && fitting.size() < kMostPlaces; ++k) {
    const int64_t behind_made = product_of(std::span(*made).subspan(k + 1));
    const int64_t inner =
        known != inner_.end() ? known->second : behind_made / std::gcd(behind_made, behind);
    if (others % inner != 0 || behind * inner % behind_made != 0 ||
        behind_made * (*made)[k] % (behind * inner * old_size_) != 0)
      continue;
    fitting.push_back({k, behind * inner / behind_made});
  }
  if (fitting.empty()) return fitting;
  // A freed size of 1 may belong to the size before it, as in view(x, [10, 16]) of 10 x 1 x 16
  // elements, or to the one behind it, if that is split: view(x, [10, 2, 8]) for two heads.
  const bool is_split =
      made->size() - fitting.front().dim > std::max<size_t>(2, sizes->size() - *dim);
  if (is_split) std::rotate(fitting.begin(), fitting.end() - 1, fitting.end());
  // What was put one behind the other is counted first: [layers, n, 8], also for one layer.
  const bool is_counted = is_appended(taken);
  std::ranges::stable_sort(fitting, [&](const Part& a, const Part& b) {
    const auto differs = [&](const Part& part) { return (*made)[part.dim] != old_size_; };
    if (differs(a) || differs(b)) return differs(a) < differs(b);
    return is_counted ? a.dim > b.dim : a.dim < b.dim;
  });
  return fitting;
}

// Returns Part::inner for a result of the node; nothing if it is not known.
std::optional<int64_t> FreedParts::inner_of(const Node& node, ValueId result) const {
  const TensorMeta* made = graph_.value(result).tensor();
  const auto dim = made == nullptr ? std::nullopt : freed_dim(*made);
  if (!dim) return std::nullopt;
  const bool reshapes = is_reshape(node);
  std::optional<int64_t> inner;
  for_each_operand(node, [&](ValueId taken) {
    if (inner) return;
    if (reshapes) {
      for (const Part& part : reshaped(taken, *made))
        if (part.dim == *dim) inner = part.inner;
      return;
    }
    const TensorMeta* from = graph_.value(taken).tensor();
    if (from == nullptr) return;
    const auto same = freed_dim(*from);
    if (!same) {
      // n copies of 5 rows.
      const size_t added = made->sizes.size() - from->sizes.size();
      if (node.target == kRepeat)
        inner = *dim < added ? 1 : known_number(from->sizes[*dim - added]).value_or(1);
      return;
    }
    if (is_appended(result) && known_number(from->sizes[*same]) == old_size_)
      inner = 1;
    else if (const auto known = inner_.find(taken);
             known != inner_.end() && from->sizes[*same] == made->sizes[*dim])
      inner = known->second;
  });
  return inner;
}

void FreedParts::note(NodeId id) {
  const Node& node = graph_.node(id);
  for_each_result(node, [&](ValueId result) {
    if (const auto inner = inner_of(node, result))
      inner_[result] = *inner;
    else
      inner_.erase(result);
  });
}

std::vector<std::pair<size_t, Argument>> FreedParts::inferring_arguments(NodeId id) const {
  const Node& node = graph_.node(id);
  if (node.inputs.empty() || node.outputs.empty()) return {};
  const auto* taken = node.inputs[0].arg.get_if<ValueId>();
  const TensorMeta* to = tensor_meta(graph_, node.outputs[0]);
  if (taken == nullptr || to == nullptr) return {};
  std::vector<std::pair<size_t, Argument>> out;
  for (const Part& part : reshaped(*taken, *to))
    if (auto argument = inferring_argument(node, *to, part.dim))
      out.push_back(*std::move(argument));
  return out;
}

std::optional<std::pair<size_t, Argument>> FreedParts::inferring_argument(const Node& node,
                                                                          const TensorMeta& to,
                                                                          size_t dim) const {
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const std::string& name = node.inputs[i].name;
    const bool splits = name == "sizes";  // unflatten names those that it makes of one dim
    Argument changed = node.inputs[i].arg;
    auto* list = changed.get_if<ArgumentList>();
    if ((!splits && name != "size" && name != "shape") || list == nullptr) continue;
    auto first = splits ? literal(node, "dim", std::nullopt) : 0;
    const auto kept = std::ssize(to.sizes) - std::ssize(list->items);
    if (first && *first < 0) *first += kept + 1;
    if (!first || *first < 0 || (splits ? *first > kept : kept != 0)) continue;
    const auto begin = static_cast<size_t>(*first);
    if (dim < begin || dim >= begin + list->items.size()) return std::nullopt;
    const auto is_inferred = [](const Argument& each) {
      return each.is<int64_t>() && *each.get_if<int64_t>() == -1;
    };
    Argument& item = list->items[dim - begin];
    if (is_inferred(item)) return std::pair(i, std::move(changed));
    if (!item.is<int64_t>()) return std::nullopt;
    for (size_t k = 0; k < list->items.size(); ++k) {
      if (!is_inferred(list->items[k])) continue;
      if (to.sizes[begin + k].is_symbolic()) return std::nullopt;
      list->items[k] = Argument(to.sizes[begin + k].literal());
    }
    item = Argument(int64_t{-1});
    return std::pair(i, std::move(changed));
  }
  return std::nullopt;
}

}  // namespace pt2
