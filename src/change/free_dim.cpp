#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/text.h"
#include "change/sizes.h"
#include "check/shapes/shape_check.h"
#include "check/shapes/symbol_samples.h"
#include "ir/graph_place.h"
#include "ir/symbols/sym_int.h"
#include "ir/target.h"
#include "lower/arguments.h"
#include "lower/decompose/decompose.h"
#include "ops/table.h"
#include "pt2/ir/edit_program.h"
#include "pt2/ir/expr_rewrite.h"

namespace pt2 {
namespace {

// Operators that put tensors, or copies of one, one behind the other.
constexpr std::string_view kAppending[] = {"torch.ops.aten.cat.default",
                                           "torch.ops.aten.repeat.default"};

// The number of sizes tried for each operator: two determine a*n + b, the third must agree.
constexpr size_t kTrials = 3;

// The most further assignments of the other symbols that each operator is tried with.
constexpr size_t kMostOthers = 4;

// The number of smallest sizes of the range for which each operator is checked again: all sizes of
// a short range. Operators mostly refuse sizes at the ends: sizes that divide nothing or are too
// small. Of a longer range the largest size is checked too, and doubled sizes up to it: slices end
// at a size of their own, and a range without end has no largest size to check.
constexpr int64_t kSmallest = 128;

// The most integers of one call that are tried as the size to follow, each under all trials: a list
// of sizes has one integer for each dim, and PyTorch's operators keep dims in 64 bits.
constexpr int kMostTries = 64;

// The most nodes before an operator that are searched for those that make operands of a fixed size.
constexpr size_t kMostMakers = 32;

// The most parts of the expressions of all new strides together. The stride of each dim is the
// product of all sizes after it, so the text of a file grows with the square of the dims. Programs
// with thousands of nodes need some ten thousand parts.
constexpr size_t kMostParts = ExprPool::kMaxSize;

std::vector<int64_t> sizes_to_ask(const SymRange& range) {
  std::vector<int64_t> sizes;
  const int64_t low = std::max<int64_t>(range.min.value_or(0), 0);
  const int64_t high = range.max.value_or(INT64_MAX);
  for (int64_t i = 0; i < kSmallest && i <= high - low; ++i) sizes.push_back(low + i);
  for (int64_t i = kSmallest; i <= high - low; i *= 2) {
    sizes.push_back(low + i);
    if (i > INT64_MAX / 2) break;
  }
  if (range.max && high - low >= kSmallest) sizes.push_back(high);
  return sizes;
}

class DimFreer {
 public:
  DimFreer(Program& program, Expr symbol, int64_t old_size, const SymRange& range)
      : program_(program),
        graph_(program.graph),
        symbol_(symbol),
        old_size_(old_size),
        asked_(sizes_to_ask(range)),
        others_(check::hint_bindings(placed_graphs(program))) {
    if (!program.range_constraints.empty()) choices_ = symbol_choices(program);
    if (!choices_.empty()) choices_.erase(choices_.begin());  // the hints
    choices_.resize(std::min(choices_.size(), kMostOthers));
    const int64_t low = std::max<int64_t>(range.min.value_or(2), 2);
    const int64_t high = range.max.value_or(INT64_MAX);
    const auto above = [](int64_t size, int64_t by) {
      return size > INT64_MAX - by ? INT64_MAX : size + by;
    };
    for (int64_t candidate :
         {old_size, low, above(low, 1), above(low, 3), high, above(old_size, 5)})
      if (candidate >= range.min.value_or(0) && candidate <= high && trials_.size() < kTrials &&
          std::ranges::find(trials_, candidate) == trials_.end())
        trials_.push_back(candidate);
  }

  using Place = std::pair<ValueId, size_t>;  // an input, and its dim

  Result<void> run(std::span<const Place> places) {
    if (trials_.size() < kTrials)
      return Error{ErrorCode::argument,
                   "found a range of fewer than three sizes, expected LOW..HIGH with three or more",
                   ""};
    depends_.assign(graph_.value_count(), false);
    place_ = places.front();
    for (const auto& [input, dim] : places) {
      TensorMeta meta = *graph_.value(input).tensor();
      const std::vector<SymInt> old = meta.sizes;
      PT2_TRY(meta.sizes[dim], spelled_size(program_, symbol_, old_size_));
      PT2_TRY_VOID(follow_strides(meta, old));
      graph_.set_value_meta(input, meta);
      depends_[static_cast<size_t>(input)] = true;
    }
    for (const NodeId id : graph_.nodes()) PT2_TRY_VOID(follow(id));
    return {};
  }

 private:
  SymbolBindings binding(int64_t size) const {
    SymbolBindings bindings = others_;
    bindings.bind(symbol_->symbol, size);
    return bindings;
  }

  Error refused(const Node& node, std::string text) const {
    return {ErrorCode::unsupported, std::move(text), node_place(graph_, node)};
  }

  bool depends(const Node& node) const {
    bool found = false;
    for (const NamedArgument& input : node.inputs)
      for_each_value(input.arg, [&](ValueId id) { found |= depends_[static_cast<size_t>(id)]; });
    return found;
  }

  Result<void> follow(NodeId id) {
    if (!depends(graph_.node(id))) return {};
    bool nested = false;
    for (const NamedArgument& input : graph_.node(id).inputs)
      for_each_subgraph(input.arg, [&](SubgraphId) { nested = true; });
    if (nested) return refused(graph_.node(id), "sizes are not followed into nested graphs");
    auto results = with_inferred_size(id);
    if (!results && results.error().code != ErrorCode::unsupported)
      results = with_free_argument(id, std::move(results).error());
    if (!results && results.error().code != ErrorCode::unsupported && !tries_)
      results = with_sized_operand(id, std::move(results).error());
    if (!results)
      return refused(graph_.node(id), fmt::format("{}; pt2 edit --set can change an argument first",
                                                  results.error().message));
    PT2_TRY_VOID(record(id, *results));
    note_inner(id);
    return ask_again(id);
  }

  // Checks, also for sizes between the trials, that the record is right and nothing is refused.
  Result<void> ask_again(NodeId id) {
    const Node& node = graph_.node(id);
    const ops::Operator op = ops::find_operator(node.target);
    check::ShapeCheck shape(graph_, node, op);
    for (const int64_t size : asked_)
      if (const auto fault = shape.judge(binding(size)).fault)
        return refused(node, fmt::format("with {} = {}: {}", symbol_->name, size, fault->text));
    return {};
  }

  // What a node gives for one size and one assignment of the other symbols.
  struct Trial {
    SymbolBindings bindings;
    std::vector<Value> values;
  };
  // First kTrials sizes with the hints of the other symbols, then one size with other assignments.
  using Trials = std::vector<Trial>;

  // One of the results of a trial.
  struct Tried {
    const SymbolBindings* bindings;
    const Value* value;
  };

  static bool are_equal(std::span<const int64_t> numbers) {
    return std::ranges::count(numbers, numbers[0]) == std::ssize(numbers);
  }

  Result<Trials> results_of(NodeId id) {
    const Node& node = graph_.node(id);
    const ops::Operator op = ops::find_operator(node.target);
    if (!op) return Error{ErrorCode::unsupported, "the operator is not known to this version", ""};
    check::ShapeCheck shape(graph_, node, op);
    Trials trials;
    for (const int64_t size : trials_) {
      SymbolBindings bindings = binding(size);
      PT2_TRY(std::vector<Value> values, shape.infer(check::by_record(bindings)));
      trials.push_back({std::move(bindings), std::move(values)});
    }
    for (SymbolBindings bindings : choices_) {
      bindings.bind(symbol_->symbol, trials_[1]);
      auto values = shape.infer(check::by_record(bindings));
      if (values) trials.push_back({std::move(bindings), *std::move(values)});
    }
    return trials;
  }

  // Returns the sizes at the export; nothing if one is not known or 0, or they make no tensor.
  static std::optional<std::vector<int64_t>> old_sizes_of(const TensorMeta& meta) {
    std::vector<int64_t> out;
    int64_t elements = 1;
    for (const SymInt& size : meta.sizes) {
      out.push_back(known_number(size).value_or(0));
      if (out.back() < 1 || __builtin_mul_overflow(elements, out.back(), &elements))
        return std::nullopt;
    }
    return out;
  }
  static int64_t product_of(std::span<const int64_t> sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies());
  }

  // Where the freed size lies in a tensor: in which dim, and how many elements of that dim lie
  // behind it: 5 if the dim holds n batches of 5 frames, 1 if it holds 5 frames of n batches.
  struct FreedPart {
    size_t dim = 0;
    int64_t inner = 1;
  };

  // Returns the dim whose size the freed size is part of; nothing if there is none, or several.
  std::optional<size_t> freed_dim(const TensorMeta& meta) const {
    const auto is_freed = [&](const SymInt& size) {
      return size.is_symbolic() &&
             std::ranges::count(free_symbols(size.expr()), symbol_->symbol) > 0;
    };
    if (std::ranges::count_if(meta.sizes, is_freed) != 1) return std::nullopt;
    return static_cast<size_t>(std::ranges::find_if(meta.sizes, is_freed) - meta.sizes.begin());
  }

  // Returns which size of a reshape's result the freed size of `taken` is part of. The order of the
  // elements tells that: another size may fit all trials, and then batches mix.
  std::optional<FreedPart> reshaped(ValueId taken, const TensorMeta& to) const {
    const TensorMeta* from = graph_.value(taken).tensor();
    if (from == nullptr || old_size_ == 0) return std::nullopt;
    const auto dim = freed_dim(*from);
    const auto sizes = old_sizes_of(*from), made = old_sizes_of(to);
    if (!dim || !sizes || !made || product_of(*sizes) != product_of(*made) ||
        (*sizes)[*dim] % old_size_ != 0)
      return std::nullopt;
    // What else the input's size is made of may lie before or behind the freed size.
    const int64_t others = (*sizes)[*dim] / old_size_;
    const int64_t behind = product_of(std::span(*sizes).subspan(*dim + 1));
    const auto known = inner_.find(taken);
    std::vector<FreedPart> fitting;
    for (size_t k = 0; k < made->size(); ++k) {
      const int64_t behind_made = product_of(std::span(*made).subspan(k + 1));
      const int64_t inner =
          known != inner_.end() ? known->second : behind_made / std::gcd(behind_made, behind);
      if (others % inner != 0 || behind * inner % behind_made != 0 ||
          behind_made * (*made)[k] % (behind * inner * old_size_) != 0)
        continue;
      fitting.push_back({k, behind * inner / behind_made});
      if ((*made)[k] == old_size_) return fitting.back();
    }
    if (fitting.empty()) return std::nullopt;
    // A freed size of 1 may belong to the size before it, as in view(x, [10, 16]) of 10 x 1 x 16
    // elements, or to the one behind it, if that is split: view(x, [10, 2, 8]) for two heads.
    const bool is_split =
        made->size() - fitting.front().dim > std::max<size_t>(2, sizes->size() - *dim);
    return is_split ? fitting.back() : fitting.front();
  }

  static bool is_reshape(const Node& node) {
    const ops::Operator op = ops::find_operator(node.target);
    return op && op.def->is_view() &&
           (op.def->facts.inverse == ops::Inverse::reshape ||
            op.def->facts.sharing == ops::Sharing::where_strides_allow);
  }

  // Notes where the freed size lies in the sizes of the results: a later reshape needs it, for
  // view(y, [5, 2, 8]) of 10 x 8 elements may split off the freed size or the others.
  void note_inner(NodeId id) {
    const Node& node = graph_.node(id);
    const bool reshapes = is_reshape(node);
    const auto inner_of = [&](ValueId result) -> std::optional<int64_t> {
      const TensorMeta* made = graph_.value(result).tensor();
      const auto dim = made == nullptr ? std::nullopt : freed_dim(*made);
      std::optional<int64_t> inner;
      for (const NamedArgument& input : node.inputs)
        for_each_value(input.arg, [&](ValueId taken) {
          if (!dim || inner) return;
          if (reshapes) {
            const auto part = reshaped(taken, *made);
            if (part && part->dim == *dim) inner = part->inner;
            return;
          }
          const TensorMeta* from = graph_.value(taken).tensor();
          const auto same = from == nullptr ? std::nullopt : freed_dim(*from);
          if (!same) return;
          if (std::ranges::find(kAppending, node.target) != std::end(kAppending) &&
              known_number(from->sizes[*same]) == old_size_)
            inner = 1;
          else if (const auto known = inner_.find(taken);
                   known != inner_.end() && from->sizes[*same] == made->sizes[*dim])
            inner = known->second;
        });
      return inner;
    };
    for (const Argument& output : node.outputs)
      for_each_value(output, [&](ValueId result) {
        if (const auto inner = inner_of(result))
          inner_[result] = *inner;
        else
          inner_.erase(result);
      });
  }

  // Returns the argument in which a reshape gets its sizes, with -1 for the size that the freed
  // one is part of, and its position; nothing if it needs no change.
  std::optional<std::pair<size_t, Argument>> inferring_argument(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.inputs.empty() || node.outputs.empty()) return std::nullopt;
    const auto* taken = node.inputs[0].arg.get_if<ValueId>();
    const auto* result = node.outputs[0].get_if<ValueId>();
    const TensorMeta* to = result == nullptr ? nullptr : graph_.value(*result).tensor();
    const auto part = taken == nullptr || to == nullptr ? std::nullopt : reshaped(*taken, *to);
    if (!part) return std::nullopt;
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      const std::string& name = node.inputs[i].name;
      const bool splits = name == "sizes";  // unflatten names those that it makes of one dim
      Argument changed = node.inputs[i].arg;
      auto* list = changed.get_if<ArgumentList>();
      if ((!splits && name != "size" && name != "shape") || list == nullptr) continue;
      auto first = splits ? literal(node, "dim", std::nullopt) : 0;
      const auto kept = std::ssize(to->sizes) - std::ssize(list->items);
      if (first && *first < 0) *first += kept + 1;
      if (!first || *first < 0 || (splits ? *first > kept : kept != 0)) continue;
      const auto begin = static_cast<size_t>(*first);
      if (part->dim < begin || part->dim >= begin + list->items.size()) return std::nullopt;
      const auto is_inferred = [](const Argument& each) {
        return each.is<int64_t>() && *each.get_if<int64_t>() == -1;
      };
      Argument& item = list->items[part->dim - begin];
      if (!item.is<int64_t>() || is_inferred(item)) return std::nullopt;
      for (size_t k = 0; k < list->items.size(); ++k) {
        if (!is_inferred(list->items[k])) continue;
        if (to->sizes[begin + k].is_symbolic()) return std::nullopt;
        list->items[k] = Argument(to->sizes[begin + k].literal());
      }
      item = Argument(int64_t{-1});
      return std::pair(i, std::move(changed));
    }
    return std::nullopt;
  }

  // view(x, [2, -1]) of a batch of 2 fits every even size, but means [-1, 12].
  Result<Trials> with_inferred_size(NodeId id) {
    const auto inferring = inferring_argument(id);
    if (!inferring) return results_of(id);
    const auto& [position, changed] = *inferring;
    const Argument old = graph_.node(id).inputs[position].arg;
    graph_.set_node_input(id, position, changed);
    auto results = results_of(id);
    if (results) return results;
    graph_.set_node_input(id, position, old);
    return results_of(id);
  }

  // Returns an integer, or the hint of one that the graph computes.
  std::optional<int64_t> number_of(const Argument& item) const {
    if (const auto* number = item.get_if<int64_t>()) return *number;
    const auto* id = item.get_if<ValueId>();
    const auto* size = id == nullptr ? nullptr : std::get_if<SymInt>(&graph_.value(*id).meta);
    return size == nullptr ? std::nullopt : known_number(*size);
  }

  // view(x, [4, 10]) contains the old size; [-1, 10] means the same and fits every size. A number
  // that equals the old size is more likely to stand for it than a multiple is: view(x, [8, 4]).
  Result<Trials> with_free_argument(NodeId id, Error first) {
    const std::vector<NamedArgument> inputs = graph_.node(id).inputs;
    if (old_size_ == 0) return first;
    int tries = 0;
    for (const bool is_equal : {true, false})
      for (size_t i = 0; i < inputs.size(); ++i) {
        const auto* list = inputs[i].arg.get_if<ArgumentList>();
        if (list == nullptr || (list->kind != ListKind::ints && list->kind != ListKind::sym_ints))
          continue;
        for (size_t k = 0; k < list->items.size(); ++k) {
          const std::optional<int64_t> number = number_of(list->items[k]);
          if (!number || *number <= 0 || *number % old_size_ != 0) continue;
          if ((*number == old_size_) != is_equal) continue;
          if (++tries > kMostTries) return first;
          Argument changed = inputs[i].arg;
          changed.get_if<ArgumentList>()->items[k] = Argument(int64_t{-1});
          graph_.set_node_input(id, i, changed);
          if (auto results = results_of(id)) return results;
          graph_.set_node_input(id, i, inputs[i].arg);
        }
      }
    return first;
  }

  // Returns the nodes that make the operands that do not depend on the size, nearest first.
  std::vector<NodeId> fixed_makers(NodeId id) const {
    std::vector<NodeId> out{id};
    for (size_t at = 0; at < out.size() && out.size() <= kMostMakers; ++at)
      for (const NamedArgument& input : graph_.node(out[at]).inputs)
        for_each_value(input.arg, [&](ValueId value) {
          const Definition& made = graph_.value(value).definition;
          if (made.by == Definition::By::node && !depends_[static_cast<size_t>(value)] &&
              std::ranges::find(out, made.node) == out.end())
            out.push_back(made.node);
        });
    out.erase(out.begin());
    return out;
  }

  // Returns the freed size as an argument. Its node is the first of the graph.
  Result<Argument> freed_size() {
    if (!size_value_) {
      PT2_TRY(const SymInt size, spelled_size(program_, symbol_, old_size_));
      const NodeId first = graph_.nodes().front();
      PT2_TRY(size_value_,
              graph_.add_value({.name = graph_.unused_name("sym_size_int"), .meta = size}));
      const bool are_named = graph_.node(first).name.has_value();
      Node node{.target = std::string(kSymSize),
                .inputs = {{.name = "self",
                            .arg = Argument(place_.first),
                            .kind = ArgumentKind::positional},
                           {.name = "dim",
                            .arg = Argument(static_cast<int64_t>(place_.second)),
                            .kind = ArgumentKind::positional}},
                .outputs = {Argument(*size_value_, Argument::Wrapper::symbolic)}};
      if (are_named) node.name = graph_.value(*size_value_).name;
      graph_.insert_node(std::move(node), first);
      depends_.resize(graph_.value_count(), false);
      depends_[static_cast<size_t>(*size_value_)] = true;
    }
    return Argument(*size_value_, Argument::Wrapper::symbolic);
  }

  // Follows what depends on the size since `maker` takes it, up to the node `end`.
  bool follow_anew(NodeId maker, NodeId end) {
    std::set<ValueId> changed;
    size_t known = 0;
    for (Graph::NodeRange::Iterator at(&graph_, static_cast<uint32_t>(maker)); *at != end; ++at) {
      for (; known < tried_.size(); ++known) changed.insert(tried_[known].first);
      bool is_new = *at == maker, was_followed = false;
      for (const NamedArgument& input : graph_.node(*at).inputs)
        for_each_value(input.arg,
                       [&](ValueId value) { is_new = is_new || changed.contains(value); });
      if (!is_new) continue;
      for (const Argument& output : graph_.node(*at).outputs)
        for_each_value(output, [&](ValueId value) {
          was_followed = was_followed || depends_[static_cast<size_t>(value)];
        });
      if (was_followed || !follow(*at)) return false;
    }
    return true;
  }

  // Takes back the changes that with_sized_operand tried.
  void undo() {
    for (auto& [value, meta] : tried_) {
      depends_[static_cast<size_t>(value)] = false;
      graph_.set_value_meta(value, std::move(meta));
    }
    tried_.clear();
    for (auto& [node, position, argument] : tried_arguments_)
      graph_.set_node_input(node, position, std::move(argument));
    tried_arguments_.clear();
  }

  // expand(token, [2, -1, -1]) or zeros([2, 8]) beside a batch of 2: a node that depends on no
  // input makes a tensor of the old size. It gets the freed size if the node `id` then takes what
  // becomes of it. If that is not enough, several such nodes do: cat([token, x, other_token]). Then
  // all take it at their first size that equals the old one, or all at their second, or third.
  Result<Trials> with_sized_operand(NodeId id, Error first) {
    int tries = 0;
    for (const auto& several_at :
         std::initializer_list<std::optional<int>>{std::nullopt, 0, 1, 2}) {
      for (const NodeId maker : fixed_makers(id)) {
        const std::vector<NamedArgument> inputs = graph_.node(maker).inputs;
        for (size_t i = 0; i < inputs.size(); ++i) {
          const auto* list = inputs[i].arg.get_if<ArgumentList>();
          if (list == nullptr || (inputs[i].name != "size" && inputs[i].name != "repeats"))
            continue;
          int fitting = 0;
          for (size_t k = 0; k < list->items.size(); ++k) {
            const auto* number = list->items[k].get_if<int64_t>();
            if (number == nullptr || *number != old_size_) continue;
            if (several_at && fitting++ != *several_at) continue;
            if (++tries > kMostTries) return first;
            Argument changed = inputs[i].arg;
            auto* sizes = changed.get_if<ArgumentList>();
            sizes->kind = ListKind::sym_ints;
            PT2_TRY(sizes->items[k], freed_size());
            graph_.set_node_input(maker, i, std::move(changed));
            tried_arguments_.push_back({maker, i, inputs[i].arg});
            tries_ = true;
            const bool follows = follow_anew(maker, id);
            tries_ = false;
            auto results = follows ? results_of(id) : Result<Trials>(first);
            if (results) {
              tried_.clear();
              tried_arguments_.clear();
              return results;
            }
            if (!several_at || !follows) undo();
          }
        }
      }
      undo();
    }
    return first;
  }

  Result<void> record(NodeId id, const Trials& trials) {
    const std::vector<Argument> outputs = graph_.node(id).outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      std::vector<Tried> tried;
      for (const Trial& trial : trials) {
        if (i >= trial.values.size()) return refused(graph_.node(id), "it gives fewer results");
        tried.push_back({&trial.bindings, &trial.values[i]});
      }
      PT2_TRY_VOID(record_output(id, outputs[i], tried));
    }
    return {};
  }

  Result<void> record_output(NodeId id, const Argument& output, const std::vector<Tried>& trials) {
    if (const auto* value = output.get_if<ValueId>()) return record_value(id, *value, trials);
    const auto* list = output.get_if<ArgumentList>();
    if (list == nullptr) return {};
    for (size_t k = 0; k < list->items.size(); ++k) {
      std::vector<Tried> items;
      for (const auto& [bindings, value] : trials) {
        const auto* all = value->get_if<Value::List>();
        if (all == nullptr || all->size() != list->items.size())
          return refused(graph_.node(id), "the number of its results depends on the size");
        items.push_back({bindings, &(*all)[k]});
      }
      PT2_TRY_VOID(record_output(id, list->items[k], items));
    }
    return {};
  }

  Result<void> record_value(NodeId id, ValueId value, const std::vector<Tried>& trials) {
    const GraphValue& known = graph_.value(value);
    if (const TensorMeta* old = known.tensor()) {
      TensorMeta meta = *old;
      bool changed = false;
      for (size_t dim = 0; dim < meta.sizes.size(); ++dim) {
        std::vector<int64_t> sizes;
        for (const Tried& trial : trials) {
          const auto* tensor = trial.value->get_if<Tensor>();
          if (tensor == nullptr || tensor->sizes().size() != meta.sizes.size())
            return refused(graph_.node(id), "the number of its dims depends on the size");
          sizes.push_back(tensor->sizes()[dim]);
        }
        if (are_equal(std::span(sizes).first(kTrials))) continue;
        PT2_TRY(meta.sizes[dim], fitted(id, old->sizes[dim], sizes, trials));
        changed = true;
      }
      if (!changed) return {};
      PT2_TRY_VOID(follow_strides(meta, old->sizes));
      if (tries_) tried_.emplace_back(value, known.meta);
      graph_.set_value_meta(value, std::move(meta));
      depends_[static_cast<size_t>(value)] = true;
      return {};
    }
    std::vector<int64_t> numbers;
    for (const Tried& trial : trials)
      if (const auto* number = trial.value->get_if<int64_t>()) numbers.push_back(*number);
    if (numbers.size() != trials.size())
      return refused(graph_.node(id), "a result depends on the size, and is not an integer");
    if (are_equal(std::span(numbers).first(kTrials))) return {};
    const auto* old = std::get_if<SymInt>(&known.meta);
    PT2_TRY(SymInt number, fitted(id, old != nullptr ? *old : SymInt(), numbers, trials));
    if (tries_) tried_.emplace_back(value, known.meta);
    graph_.set_value_meta(value, number);
    depends_[static_cast<size_t>(value)] = true;
    return {};
  }

  // Returns the expression that fits the sizes: a*n + b, or what a size that depends on other
  // symbols becomes.
  Result<SymInt> fitted(NodeId id, const SymInt& old, const std::vector<int64_t>& sizes,
                        const std::vector<Tried>& trials) {
    const int64_t run = trials_[1] - trials_[0];
    int64_t rise = 0, start = 0, b = 0, third = 0;
    // INT64_MIN / -1 does not fit in 64 bits.
    bool fits = !__builtin_sub_overflow(sizes[1], sizes[0], &rise) &&
                !(rise == INT64_MIN && run == -1) && rise % run == 0;
    const int64_t a = fits ? rise / run : 0;
    fits = fits && !__builtin_mul_overflow(a, trials_[0], &start) &&
           !__builtin_sub_overflow(sizes[0], start, &b) &&
           !__builtin_mul_overflow(a, trials_[2], &third) &&
           !__builtin_add_overflow(third, b, &third) && third == sizes[2];
    if (!fits)
      return refused(
          graph_.node(id),
          fmt::format("a size of its result is {} where the input's is {}, expected "
                      "a*n + b",
                      fmt::join(std::span(sizes).first(kTrials), ", "), fmt::join(trials_, ", ")));
    const auto fits_all = [&](Expr expr) {
      for (size_t i = 0; i < trials.size(); ++i) {
        const auto size = evaluate_integer(expr, *trials[i].bindings);
        if (!size || *size != sizes[i]) return false;
      }
      return true;
    };
    for (const bool in_proportion : {true, false}) {
      if (in_proportion && (b != 0 || old_size_ == 0 || !old.is_symbolic())) continue;
      PT2_TRY(const Expr expr, old.is_symbolic() ? risen(old, a, in_proportion) : line(a, b));
      if (fits_all(expr)) return spelled_size(program_, expr, a * old_size_ + b);
    }
    return refused(graph_.node(id),
                   fmt::format("a size of its result, {}, depends on more symbols in a way that "
                               "is not followed",
                               print(old)));
  }

  Result<Expr> line(int64_t a, int64_t b) {
    PT2_TRY(const SpelledExpr* expr,
            program_.expressions->parse(fmt::format("{}*{} + {}", a, symbol_->name, b)));
    return simplify(*program_.expressions, expr->expr);
  }

  // Returns what a size that depends on other symbols becomes. In proportion, 7*s is n*s where n
  // was 7; otherwise s + 7 is s + n.
  Result<Expr> risen(const SymInt& old, int64_t a, bool in_proportion) {
    ExprPool& pool = *program_.expressions;
    if (in_proportion) {
      const Expr factor =
          pool.intern({.op = ExprOp::floor_div, .args = {old.expr(), pool.integer(old_size_)}});
      return simplify(pool, pool.intern({.op = ExprOp::multiply, .args = {factor, symbol_}}));
    }
    const Expr more = pool.intern({.op = ExprOp::add, .args = {symbol_, pool.integer(-old_size_)}});
    const Expr rise = pool.intern({.op = ExprOp::multiply, .args = {pool.integer(a), more}});
    return simplify(pool, pool.intern({.op = ExprOp::add, .args = {old.expr(), rise}}));
  }

  // Recomputes the strides of a dense tensor in its order of dims. Other tensors keep their
  // strides, also if a file records the wrong number of strides.
  Result<void> follow_strides(TensorMeta& meta, const std::vector<SymInt>& old_sizes) {
    if (meta.strides.size() != old_sizes.size()) return {};
    std::vector<size_t> order(meta.strides.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto hint = [](const SymInt& size) { return known_number(size).value_or(1); };
    std::ranges::stable_sort(order, std::greater(),
                             [&](size_t dim) { return hint(meta.strides[dim]); });
    int64_t expected = 1;
    for (size_t i = order.size(); i-- > 0;) {
      const size_t dim = order[i];
      if (hint(old_sizes[dim]) != 1 && hint(meta.strides[dim]) != expected) return {};
      if (__builtin_mul_overflow(expected, std::max<int64_t>(hint(old_sizes[dim]), 1), &expected))
        return {};
    }
    Expr product = program_.expressions->integer(1);
    int64_t value = 1;
    for (size_t i = order.size(); i-- > 0;) {
      const size_t dim = order[i];
      PT2_TRY(meta.strides[dim], spelled_size(program_, product, value));
      const SymInt& size = meta.sizes[dim];
      PT2_TRY(product, times(product, size));
      if (__builtin_mul_overflow(value, std::max<int64_t>(hint(size), 1), &value))
        return Error{ErrorCode::invalid, "a tensor has more than 2^63 elements", ""};
    }
    return {};
  }

  Result<Expr> times(Expr product, const SymInt& size) {
    ExprPool& pool = *program_.expressions;
    const Expr factor = expression_of(size, pool);
    Expr& known = products_[{product.operator->(), factor.operator->()}];
    if (known) return known;
    if (product->size > kMostParts - parts_ || factor->size > kMostParts - parts_ - product->size)
      return Error{ErrorCode::limit,
                   fmt::format("the strides that follow the size are expressions of more than {} "
                               "parts; expected fewer: give other dims fixed sizes first",
                               kMostParts),
                   ""};
    parts_ += product->size + factor->size;
    PT2_TRY(known,
            simplify(pool, pool.intern({.op = ExprOp::multiply, .args = {product, factor}})));
    return known;
  }

  Program& program_;
  Graph& graph_;
  const Expr symbol_;
  const int64_t old_size_;
  const std::vector<int64_t> asked_;
  const SymbolBindings others_;          // hints of the other symbols, from the export
  std::vector<SymbolBindings> choices_;  // other assignments of them
  std::vector<int64_t> trials_;
  std::vector<bool> depends_;          // by value id: true if a size of it depends on the symbol
  std::map<ValueId, int64_t> inner_;   // FreedPart::inner of values that reshapes lead to
  Place place_{};                      // one that has the size
  std::optional<ValueId> size_value_;  // the size as an integer, once a node takes it
  // While with_sized_operand tries a change: the values that it changes, as they were.
  using TriedValue = std::pair<ValueId, decltype(GraphValue::meta)>;
  std::vector<TriedValue> tried_;
  struct TriedArgument {
    NodeId node{};
    size_t position = 0;
    Argument old{};
  };
  std::vector<TriedArgument> tried_arguments_;
  bool tries_ = false;
  std::map<std::pair<const ExprNode*, const ExprNode*>, Expr> products_;
  size_t parts_ = 0;  // of all products
};

// True if a size of the graph has the symbol. The pool also keeps symbols of edits that failed.
bool has_symbol(const Graph& graph, SymbolId symbol) {
  const auto is_in = [&](const auto& number) {
    return number.is_symbolic() && std::ranges::count(free_symbols(number.expr()), symbol) > 0;
  };
  const auto any_in = [&](const std::vector<SymInt>& sizes) {
    return std::ranges::any_of(sizes, is_in);
  };
  for (const ValueId id : graph.values()) {
    const bool found = std::visit(
        [&]<class T>(const T& meta) {
          if constexpr (std::same_as<T, TensorMeta>)
            return any_in(meta.sizes) || any_in(meta.strides) || is_in(meta.storage_offset);
          else if constexpr (std::same_as<T, CustomObjectType>)
            return false;
          else
            return is_in(meta);
        },
        graph.value(id).meta);
    if (found) return true;
  }
  bool found = false;
  for (const NodeId id : graph.nodes())
    for (const NamedArgument& input : graph.node(id).inputs)
      for_each_subgraph(input.arg, [&](SubgraphId nested) {
        found = found || has_symbol(graph.subgraph(nested), symbol);
      });
  return found;
}

bool is_taken(const Program& program, std::string_view name) {
  const auto symbol = program.expressions->find_symbol(name);
  const auto has_it = [&](const RangeConstraint& range) {
    return range.key != nullptr && std::ranges::count(free_symbols(range.key->expr), *symbol) > 0;
  };
  return symbol && (has_symbol(program.graph, *symbol) ||
                    std::ranges::any_of(program.range_constraints, has_it));
}

}  // namespace

Result<void> free_dim(Program& program, std::string_view input, size_t dim, std::string_view symbol,
                      SymRange range) {
  PT2_TRY(const ValueId id, find_input_value(program, input));
  PT2_TRY(const SymInt size, input_size(program, id, dim));
  if (size.is_symbolic()) return set_range(program, input, dim, range);
  const InputDim one{input, dim};
  return free_dims(program, {&one, 1}, symbol, range);
}

Result<void> free_dims(Program& program, std::span<const InputDim> dims, std::string_view symbol,
                       SymRange range) {
  std::vector<DimFreer::Place> places;
  std::optional<int64_t> old_size;
  const UserInputs inputs(program);
  for (const auto& [input, dim] : dims) {
    PT2_TRY(const ValueId id, inputs.find(input));
    PT2_TRY(const SymInt size, input_size(program, id, dim));
    if (size.is_symbolic() || (old_size && size.literal() != *old_size))
      return Error{
          ErrorCode::argument,
          fmt::format("size {} of {} is {}, expected {}", dim, input, print(size),
                      old_size ? fmt::format("{}, as the other sizes", *old_size) : "a fixed size"),
          ""};
    old_size = size.literal();
    places.emplace_back(id, dim);
  }
  if (!old_size) return {};
  const Error wrong_name(ErrorCode::argument,
                         fmt::format("'{}' cannot be the name of a new symbol: expected an "
                                     "identifier that the program does not use",
                                     symbol));
  if (!is_identifier(symbol) || is_taken(program, symbol)) return wrong_name;
  PT2_TRY_VOID(check_not_empty(range));
  if (!range.contains(*old_size))
    return Error{ErrorCode::argument,
                 fmt::format("found the range {}, expected one with {}: the program was exported "
                             "with this size",
                             print(range), *old_size),
                 ""};
  Program changed = program;
  // PyTorch creates the symbols of sizes with these assumptions, also if they may be 0.
  const Expr made = changed.expressions->symbol(symbol, "positive=True, integer=True");
  PT2_TRY(const SpelledExpr* key, changed.expressions->parse(symbol));
  if (free_symbols(key->expr).empty()) return wrong_name;  // E, I, pi and oo are numbers
  PT2_TRY_VOID(DimFreer(changed, made, *old_size, range).run(places));
  changed.range_constraints.push_back({.key = key, .range = range});
  drop_guards_of_one_size(changed, made, *old_size, range);
  program = std::move(changed);
  return {};
}

}  // namespace pt2
