#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/text.h"
#include "change/freed_parts.h"
#include "change/freed_sizes.h"
#include "change/sizes.h"
#include "check/shapes/shape_check.h"
#include "check/shapes/symbol_samples.h"
#include "ir/graph_place.h"
#include "ir/symbols/sym_int.h"
#include "ir/target.h"
#include "lower/decompose/decompose.h"
#include "ops/table.h"
#include "pt2/ir/edit_program.h"

namespace pt2 {
namespace {

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
        parts_(program.graph, symbol, old_size),
        sizes_(program, symbol, old_size),
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
      PT2_TRY_VOID(sizes_.follow_strides(meta, old));
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
    parts_.note(id);
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

  // True if all trials of sizes gave the same.
  static bool are_equal(std::span<const SizeAt> sizes) {
    return std::ranges::all_of(sizes.first(kTrials),
                               [&](const SizeAt& each) { return each.size == sizes[0].size; });
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

  // view(x, [2, -1]) of a batch of 2 fits every even size, but means [-1, 12].
  Result<Trials> with_inferred_size(NodeId id) {
    const auto inferring = parts_.inferring_argument(id);
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
        std::vector<SizeAt> sizes;
        for (const Tried& trial : trials) {
          const auto* tensor = trial.value->get_if<Tensor>();
          if (tensor == nullptr || tensor->sizes().size() != meta.sizes.size())
            return refused(graph_.node(id), "the number of its dims depends on the size");
          sizes.push_back({trial.bindings, tensor->sizes()[dim]});
        }
        if (are_equal(sizes)) continue;
        PT2_TRY(meta.sizes[dim], fitted(id, old->sizes[dim], sizes));
        changed = true;
      }
      if (!changed) return {};
      PT2_TRY_VOID(sizes_.follow_strides(meta, old->sizes));
      if (tries_) tried_.emplace_back(value, known.meta);
      graph_.set_value_meta(value, std::move(meta));
      depends_[static_cast<size_t>(value)] = true;
      return {};
    }
    std::vector<SizeAt> numbers;
    for (const Tried& trial : trials)
      if (const auto* number = trial.value->get_if<int64_t>())
        numbers.push_back({trial.bindings, *number});
    if (numbers.size() != trials.size())
      return refused(graph_.node(id), "a result depends on the size, and is not an integer");
    if (are_equal(numbers)) return {};
    const auto* old = std::get_if<SymInt>(&known.meta);
    PT2_TRY(SymInt number, fitted(id, old != nullptr ? *old : SymInt(), numbers));
    if (tries_) tried_.emplace_back(value, known.meta);
    graph_.set_value_meta(value, number);
    depends_[static_cast<size_t>(value)] = true;
    return {};
  }

  Result<SymInt> fitted(NodeId id, const SymInt& old, std::span<const SizeAt> sizes) {
    auto size = sizes_.fitted(old, sizes, trials_);
    if (size || size.error().code != ErrorCode::unsupported) return size;
    return refused(graph_.node(id), std::move(size).error().message);
  }

  Program& program_;
  Graph& graph_;
  const Expr symbol_;
  const int64_t old_size_;
  FreedParts parts_;
  FreedSizes sizes_;
  const std::vector<int64_t> asked_;
  const SymbolBindings others_;          // hints of the other symbols, from the export
  std::vector<SymbolBindings> choices_;  // other assignments of them
  std::vector<int64_t> trials_;
  std::vector<bool> depends_;          // by value id: true if a size of it depends on the symbol
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
