#include "change/freed_uses.h"

#include <algorithm>
#include <set>
#include <utility>

#include "change/sizes.h"
#include "ir/target.h"
#include "lower/arguments.h"
#include "ops/table.h"
#include "pt2/ir/symbols.h"

namespace pt2 {
namespace {

// Statistics over the batch. At a batch of 1 that is what instance norm decomposes to, with the
// channels of all images as the channels of one.
constexpr std::string_view kNormOfBatch = "torch.ops.aten._native_batch_norm_legit.no_stats";

// True for products of matrices, convolutions and the like, which sum over a size that both
// operands have. Autocast computes them alone in lower precision, and losses in float32. The
// equation of an einsum, its first argument, says over what it sums: there the size is meant.
bool is_product(const ops::Operator& op) {
  return op && op.def->facts.autocast == ops::AutocastRule::lower_precision &&
         op.signature().begin()->type.base == ops::BaseType::tensor;
}

}  // namespace

FreedUses::FreedUses(const Graph& graph, Expr symbol, int64_t old_size, Depends depends)
    : graph_(graph), symbol_(symbol), old_size_(old_size), depends_(std::move(depends)) {
  none_.bind(symbol->symbol, int64_t{0});
  one_.bind(symbol->symbol, int64_t{1});
}

std::optional<std::string> FreedUses::unlikely(const Node& node) const {
  const auto* result = node.outputs.empty() ? nullptr : node.outputs[0].get_if<ValueId>();
  if (indexes_beyond(node)) return "the index counts the size, but what it selects from is fixed";
  if (old_size_ != 1 || result == nullptr || graph_.value(*result).tensor() == nullptr) return {};
  if (node.target == kNormOfBatch)
    if (const TensorMeta* meta = tensor_meta(graph_, node.inputs[0].arg))
      if (!meta->sizes.empty() && meta->sizes[0].is_symbolic()) return "it mixes all batches";
  const size_t found = freed_sizes(*result);
  const ops::Operator op = ops::find_operator(node.target);
  if (found == 0 && op && op.def->facts.inverse == ops::Inverse::scatter)
    return "it takes one of a size of 1";
  if (is_merged_and_more(*result)) return "it adds to a size that is a multiple of the size";
  const size_t rank = graph_.value(*result).tensor()->sizes.size();
  size_t most = 0, operands = 0;
  bool broadcasts = true;
  for_each_operand(node, [&](ValueId value) {
    const size_t sizes = freed_sizes(value);
    most = std::max(most, sizes);
    operands += sizes > 0 ? 1 : 0;
    broadcasts = broadcasts && broadcasts_to(value, *result, rank);
  });
  if (is_product(op) && found == 0 && operands > 1) return "it sums over the size";
  if (!is_product(op) && found > 1 && most < 2 && (broadcasts || rank > 2))
    return "two sizes of its result depend on the size";
  return {};
}

// True if an index that counts the freed size, such as arange(n), selects from a fixed size that
// equals the old one: mask[arange(2)] of 2 x 8.
bool FreedUses::indexes_beyond(const Node& node) const {
  const auto* list = find_argument<ArgumentList>(node, "indices");
  const TensorMeta* self = list == nullptr ? nullptr : tensor_meta(graph_, node.inputs[0].arg);
  if (self == nullptr) return false;
  for (size_t dim = 0; dim < std::min(list->items.size(), self->sizes.size()); ++dim) {
    const auto* index = list->items[dim].get_if<ValueId>();
    if (index != nullptr && depends_(*index) && self->sizes[dim] == old_size_ &&
        counts_only(*index))
      return true;
  }
  return false;
}

// True if the value depends on the freed size, and on no element of an input that has it.
bool FreedUses::counts_only(ValueId value) const {
  std::vector<ValueId> left{value};
  std::set<ValueId> seen;
  while (!left.empty()) {
    const ValueId at = left.back();
    left.pop_back();
    if (!depends_(at) || !seen.insert(at).second) continue;
    const Node* maker = find_maker(graph_, at);
    if (maker == nullptr) return false;
    if (maker->target == kSymSize) continue;
    for_each_operand(*maker, [&](ValueId each) { left.push_back(each); });
  }
  return true;
}

// True if a size is 3*n + 1: rows of several batches that are one behind the other, and one more.
bool FreedUses::is_merged_and_more(ValueId value) const {
  return std::ranges::any_of(graph_.value(value).tensor()->sizes, [&](const SymInt& size) {
    const auto none = evaluate(size, none_), one = evaluate(size, one_);
    return none && one && *none != 0 && *one - *none > 1;
  });
}

bool FreedUses::broadcasts_to(ValueId value, ValueId result, size_t rank) const {
  const TensorMeta* from = graph_.value(value).tensor();
  if (from == nullptr) return true;
  if (from->sizes.size() > rank) return false;
  const std::vector<SymInt>& to = graph_.value(result).tensor()->sizes;
  for (size_t i = 0; i < from->sizes.size(); ++i)
    if (from->sizes[i] != 1 && from->sizes[i] != to[rank - from->sizes.size() + i]) return false;
  return true;
}

size_t FreedUses::freed_sizes(ValueId value) const {
  const TensorMeta* meta = graph_.value(value).tensor();
  if (meta == nullptr) return 0;
  return static_cast<size_t>(std::ranges::count_if(
      meta->sizes, [&](const SymInt& size) { return has_symbol(size.expr(), symbol_->symbol); }));
}

}  // namespace pt2
