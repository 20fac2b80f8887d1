#include "change/dim_freer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "base/text.h"
#include "change/freed_numbers.h"
#include "change/freed_parts.h"
#include "change/freed_sizes.h"
#include "change/freed_uses.h"
#include "change/sizes.h"
#include "check/shapes/shape_check.h"
#include "check/shapes/symbol_samples.h"
#include "ir/graph_place.h"
#include "ir/symbols/sym_int.h"
#include "ir/target.h"
#include "lower/arguments.h"
#include "lower/decompose/decompose.h"
#include "lower/functional/functionalize.h"
#include "lower/new_nodes.h"
#include "ops/shape/view.h"
#include "ops/table.h"
#include "pt2/ir/builder.h"
#include "pt2/ir/edit.h"
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

// A choice that was not made yet; the increment gives the first.
constexpr size_t kNone = SIZE_MAX;

// The most integers of one call that are tried as the size to follow, each under all trials: a list
// of sizes has one integer for each dim, and PyTorch's operators keep dims in 64 bits.
constexpr int kMostTries = 64;

// The most nodes that are followed: each a few times, and more in small programs. A node whose
// sizes are long expressions counts as several.
constexpr size_t kMostFollowed = 100'000;
constexpr size_t kMostRounds = 8;
constexpr size_t kLong = 4;  // a weight of ShapeCheck that counts as one more node

constexpr std::string_view kView = "torch.ops.aten.view.default";

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
        finder_(program.graph, old_size, [this](ValueId value) { return depends(value); }),
        uses_(program.graph, symbol, old_size, [this](ValueId value) { return depends(value); }),
        asked_(sizes_to_ask(range)),
        bindings_(check::hint_bindings(placed_graphs(program))) {
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

  Result<void> run(std::span<const InputPlace> places) {
    if (trials_.size() < kTrials)
      return Error{
          ErrorCode::argument,
          "found a range of fewer than three sizes, expected LOW..HIGH with three or more"};
    bind_trials();
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
    reached_ = depends_;
    for (const NodeId id : graph_.nodes()) {
      positions_.emplace(id, order_.size());
      order_.push_back(id);
      if (const Node& node = graph_.node(id); is_reached(node))
        for_each_result(node, [&](ValueId value) { reached_[static_cast<size_t>(value)] = true; });
    }
    marks_.assign(order_.size(), 0);
    // Every number is a multiple of an old size of 1, which is little reason to take it for one,
    // and less for numbers that count, as arange's, than for sizes.
    multiples_ = old_size_ == 1 ? Multiples::none : Multiples::all;
    auto done = search();
    while (!done && done.error().code == ErrorCode::unsupported && multiples_ != Multiples::all) {
      undo(0);
      made_choices_.clear();
      followed_ = 0;
      multiples_ = multiples_ == Multiples::none ? Multiples::of_lists : Multiples::all;
      done = search();
    }
    if (done) erase_unused();
    return done;
  }

 private:
  void bind_trials() {
    for (const int64_t size : trials_) {
      bindings_.bind(symbol_->symbol, size);
      tried_.push_back(bindings_);
    }
    if (program_.range_constraints.empty()) return;
    std::vector<SymbolBindings> choices = symbol_choices(program_);
    for (size_t i = 1; i < std::min(choices.size(), kMostOthers + 1); ++i) {  // 0: the hints
      choices[i].bind(symbol_->symbol, trials_[1]);
      tried_.push_back(std::move(choices[i]));
    }
  }

  Error refused(const Node& node, std::string text) const {
    return {ErrorCode::unsupported, std::move(text), node_place(graph_, node)};
  }

  bool depends(ValueId value) const { return depends_[static_cast<size_t>(value)]; }
  bool depends(const Node& node) const {
    return any_operand(node, [&](ValueId id) { return depends(id); });
  }

  // What a node gives for one size and one assignment of the other symbols.
  struct Trial {
    const SymbolBindings* bindings;
    std::vector<Value> values;
  };
  // In the order of tried_; without those of the other assignments that the node refuses.
  using Trials = std::vector<Trial>;

  // Where one number or place may be the freed size or not, the operators tell which, at once or
  // later. Each such choice is kept; when a node refuses what became of it, the last choice that
  // the node depends on is made anew, and all is followed from there again.
  struct Choice {
    enum class Among : uint8_t {
      places,   // of the freed size in the result of a reshape
      numbers,  // that stand for the freed size, since the node refuses the old one
      counts,   // the same, or none; the result must keep its sizes
      losses,   // the same, or none; the result must depend on the size
      hidden    // the same, or none; the node has no freed size otherwise
    };
    Among among = Among::places;
    NodeId node{};
    size_t count = 0;
    size_t chosen = 0;
    std::vector<FreedNumbers> numbers{};
    std::vector<Sizes> expected{};  // of the results, for counts

    std::span<const FreedNumber> chosen_numbers() const {
      return chosen < numbers.size() ? std::span(numbers[chosen]) : std::span<const FreedNumber>();
    }
  };

  Result<void> search() {
    // The error of the node that was reached last: earlier ones may be due to wrong choices.
    std::optional<Error> last;
    size_t reached = 0;
    for (size_t at = 0; at <= order_.size();) {
      if (followed_ > kMostFollowed + kMostRounds * order_.size())
        return last ? *last
                    : Error{ErrorCode::limit,
                            "there are too many choices, or the sizes are too long expressions"};
      size_t failed = at;
      const auto done = at < order_.size() ? follow(at) : ask_all(failed);
      if (done && !again_) {
        ++at;
        continue;
      }
      if (!done && done.error().code != ErrorCode::unsupported) return done;
      if (!done && (!last || failed > reached)) {
        last = done.error();
        reached = failed;
      }
      const auto next = done ? again_ : choose_anew(failed);
      again_.reset();
      if (!next) return *last;
      at = *next;
      undo(at);
    }
    return {};
  }

  // Makes the last choice anew that the node at `failed` depends on. Returns the first node to
  // follow again; nothing if there is no other choice left.
  std::optional<size_t> choose_anew(size_t failed) {
    const NodeId id = order_[failed];
    const std::vector<bool> before = nodes_before(id);
    // What becomes of a number may need another one, but not more: the choices multiply. Numbers
    // that the node does not depend on are of other needs.
    size_t open = 0;
    for (const Choice& choice : made_choices_)
      if (choice.among != Choice::Among::places && positions_.at(choice.node) >= failed &&
          matters(choice, before))
        open += choice.among == Choice::Among::numbers && choice.node != id ? 1 : 2;
    bool is_new = open < 2;
    if (is_new) {
      std::vector<FreedNumbers> numbers = finder_.of_refusal(id, multiples_);
      const size_t count = numbers.size();
      made_choices_.push_back({.among = Choice::Among::numbers,
                               .node = id,
                               .count = count,
                               .chosen = kNone,
                               .numbers = std::move(numbers)});
    }
    for (size_t first = failed; !made_choices_.empty(); is_new = false) {
      Choice& choice = made_choices_.back();
      first = std::min(first, first_of(choice));
      if ((is_new || matters(choice, before)) && choice.chosen + 1 < choice.count) {
        ++choice.chosen;
        return std::min(first, first_of(choice));
      }
      made_choices_.pop_back();
    }
    return std::nullopt;
  }

  size_t first_of(const Choice& choice) const {
    size_t first = positions_.at(choice.node);
    for (const FreedNumber& number : choice.chosen_numbers())
      first = std::min(first, positions_.at(number.node));
    return first;
  }

  // Returns, by position, the node and those that it depends on.
  std::vector<bool> nodes_before(NodeId id) const {
    std::vector<bool> before(order_.size(), false);
    std::vector<NodeId> left{id};
    while (!left.empty()) {
      const NodeId at = left.back();
      left.pop_back();
      if (const auto known = positions_.find(at); known != positions_.end()) {
        if (before[known->second]) continue;
        before[known->second] = true;
      }
      for_each_operand(graph_.node(at), [&](ValueId value) {
        if (const auto maker = maker_of(graph_, value)) left.push_back(*maker);
      });
    }
    return before;
  }

  bool matters(const Choice& choice, const std::vector<bool>& before) const {
    return before[positions_.at(choice.node)] ||
           std::ranges::any_of(choice.chosen_numbers(), [&](const FreedNumber& number) {
             return before[positions_.at(number.node)];
           });
  }

  Choice* find_choice(NodeId id, std::initializer_list<Choice::Among> among) {
    const auto found = std::ranges::find_if(made_choices_, [&](const Choice& choice) {
      return choice.node == id && std::ranges::count(among, choice.among) > 0;
    });
    return found == made_choices_.end() ? nullptr : &*found;
  }

  Result<void> follow(size_t at) {
    const NodeId id = order_[at];
    ++followed_;
    marks_[at] = changes_.size();
    PT2_TRY(const bool has_numbers, put_numbers(id));
    if (!depends(graph_.node(id))) return choose_hidden_numbers(id);
    bool nested = false;
    for_each_callee(graph_.node(id), [&](SubgraphId) { nested = true; });
    if (nested) return refused(graph_.node(id), "sizes are not followed into nested graphs");
    auto results = with_place(id);
    if (!results && results.error().code == ErrorCode::limit) return results.error();
    if (!results)
      return refused(graph_.node(id), fmt::format("{}; pt2 edit --set can change an argument first",
                                                  results.error().message));
    PT2_TRY_VOID(record(id, *results));
    const bool is_hidden = find_choice(id, {Choice::Among::hidden}) != nullptr;
    if (has_numbers && !is_hidden && !has_freed_result(graph_.node(id)))
      return refused(graph_.node(id), "the number is no size");
    parts_.note(id);
    PT2_TRY_VOID(keep_viewable(id, *results));
    if (const auto use = uses_.unlikely(graph_.node(id))) return refused(graph_.node(id), *use);
    return is_hidden ? Result<void>() : choose_silent_numbers(id, *results);
  }

  // Puts the freed size where the choices say that a number stands for it.
  Result<bool> put_numbers(NodeId id) {
    bool found = false;
    for (const Choice& choice : made_choices_)
      for (const FreedNumber& number : choice.chosen_numbers()) {
        if (number.node != id) continue;
        Argument changed = graph_.node(id).inputs[number.position].arg;
        PT2_TRY(Argument size, freed_size(number.factor, number.offset));
        if (auto* list = changed.get_if<ArgumentList>(); list != nullptr && number.item) {
          list->kind = ListKind::sym_ints;
          list->items[*number.item] = std::move(size);
        } else {
          changed = std::move(size);
        }
        set_input(id, number.position, std::move(changed));
        found = true;
      }
    return found;
  }

  bool has_freed_result(const Node& node) const {
    return any_result(node, [&](ValueId value) { return depends(value); });
  }

  // A result that nothing refuses may be wrong where the old size was only the size of a constant.
  // With `counts`, x[arange(1)] of a batch of 1 gives one row for every batch. With `losses`, the
  // result has no size of the batch although operands do.
  Result<void> choose_silent_numbers(NodeId id, const Trials& trials) {
    using enum Choice::Among;
    const Node& node = graph_.node(id);
    const auto* result = node.outputs.empty() ? nullptr : node.outputs[0].get_if<ValueId>();
    const bool keeps = result != nullptr ? depends(*result) : has_freed_result(node);
    const ops::Operator op = ops::find_operator(node.target);
    const auto* self = node.inputs.empty() ? nullptr : node.inputs[0].arg.get_if<ValueId>();
    // What is written to a tensor of another size, at the places that an index tells.
    bool has_old_size = op && op.def->change != nullptr && self != nullptr && !depends(*self);
    for_each_result(node, [&](ValueId value) {
      if (const TensorMeta* meta = graph_.value(value).tensor())
        has_old_size = has_old_size || std::ranges::count(meta->sizes, SymInt(old_size_)) > 0;
    });
    const std::vector<Sizes> sizes = result_sizes(trials);
    if (const Choice* made = find_choice(id, {counts, losses})) {
      if (made->chosen >= made->numbers.size()) return {};
      const bool fits = made->among == losses ? keeps : sizes == made->expected;
      return fits ? Result<void>() : refused(node, "a constant gives other sizes");
    }
    if (keeps ? old_size_ != 1 : !has_old_size) return {};
    add_choice({.among = keeps ? counts : losses,
                .node = id,
                .numbers = keeps ? finder_.of_counts(id) : finder_.of_lost_size(id),
                .expected = sizes});
    return {};
  }

  // Chooses among the numbers, or none of them. The node is followed again with the first.
  void add_choice(Choice choice) {
    if (choice.numbers.empty()) return;
    choice.count = choice.numbers.size() + 1;
    made_choices_.push_back(std::move(choice));
    again_ = first_of(made_choices_.back());
  }

  // Elements of the freed input may lie in a value without the freed size, and a number may stand
  // for the size all the same.
  Result<void> choose_hidden_numbers(NodeId id) {
    using enum Choice::Among;
    if (!is_reached(graph_.node(id))) return {};
    if (const Choice* made = find_choice(id, {hidden}))
      return made->chosen >= made->numbers.size()
                 ? Result<void>()
                 : refused(graph_.node(id), "a constant does not give the size");
    add_choice({.among = hidden, .node = id, .numbers = finder_.of_hidden_size(id)});
    return {};
  }

  // True if the node takes elements of the freed input.
  bool is_reached(const Node& node) const {
    return any_operand(node, [&](ValueId id) {
      return static_cast<size_t>(id) < reached_.size() && reached_[static_cast<size_t>(id)];
    });
  }

  static std::vector<Sizes> result_sizes(const Trials& trials) {
    std::vector<Sizes> out;
    const auto add = [&](const auto& self, const Value& value) -> void {
      if (const auto* tensor = value.get_if<Tensor>()) out.push_back(tensor->sizes());
      if (const auto* list = value.get_if<Value::List>())
        for (const Value& item : *list) self(self, item);
    };
    for (const Trial& trial : trials)
      for (const Value& value : trial.values) add(add, value);
    return out;
  }

  // The decomposition of reshape for a batch of 1 is a view also where larger batches need a copy.
  Result<void> keep_viewable(NodeId id, const Trials& trials) {
    const Node& node = graph_.node(id);
    const auto* taken = node.target == kView ? node.inputs[0].arg.get_if<ValueId>() : nullptr;
    const TensorMeta* from = taken == nullptr ? nullptr : graph_.value(*taken).tensor();
    if (from == nullptr || from->strides.size() != from->sizes.size()) return {};
    bool is_view = true;
    for (size_t i = 0; i < kTrials; ++i) {
      Sizes sizes, strides;
      for (size_t dim = 0; dim < from->sizes.size(); ++dim) {
        const auto size = evaluate(from->sizes[dim], *trials[i].bindings);
        const auto stride = evaluate(from->strides[dim], *trials[i].bindings);
        if (!size || !stride) return {};
        sizes.push_back(*size);
        strides.push_back(*stride);
      }
      const auto* to = trials[i].values[0].get_if<Tensor>();
      if (to == nullptr || !checked_numel(sizes)) return {};
      const Tensor tensor =
          Tensor::without_elements(to->dtype(), sizes).with_view(sizes, strides, 0);
      is_view = is_view && ops::view_strides(tensor, to->sizes()).has_value();
    }
    if (is_view) return {};
    if (!is_functional(graph_))
      return refused(node, "other sizes need a copy here, and the program writes to tensors");
    return copy_before(id, *taken);
  }

  Result<void> copy_before(NodeId id, ValueId taken) {
    TensorMeta meta = *graph_.value(taken).tensor();
    std::vector<SymInt> old;
    int64_t stride = 1;
    for (size_t dim = meta.sizes.size(); dim-- > 0;) {
      meta.strides[dim] = SymInt(stride);
      stride *= known_number(meta.sizes[dim]).value_or(1);
    }
    for (const SymInt& size : meta.sizes) old.push_back(SymInt(known_number(size).value_or(1)));
    meta.storage_offset = SymInt(0);
    PT2_TRY_VOID(sizes_.follow_strides(meta, old));
    const ValueId copy = NewNodes(graph_, id)
                             .call("torch.ops.aten.clone.default", "clone", std::move(meta),
                                   {arg("self", Argument(taken)),
                                    kwarg("memory_format", Argument(MemoryFormat::contiguous))});
    made_.push_back(graph_.value(copy).definition.node);
    depends_.resize(graph_.value_count(), false);
    depends_[static_cast<size_t>(copy)] = true;
    set_input(id, 0, Argument(copy));
    return {};
  }

  // Checks, also for sizes between the trials, that the records are right and nothing is refused.
  // Sets `failed` to the position of the first node with a fault.
  Result<void> ask_all(size_t& failed) {
    struct Asked {
      size_t position;
      ops::Operator op;
      std::optional<check::ShapeCheck> shape{};
    };
    std::vector<Asked> nodes;
    for (size_t at = 0; at < order_.size(); ++at)
      if (const Node& node = graph_.node(order_[at]); depends(node))
        nodes.push_back({at, ops::find_operator(node.target)});
    for (Asked& each : nodes)
      each.shape.emplace(graph_, graph_.node(order_[each.position]), each.op);
    Result<void> done;
    // All nodes are asked about one size under one record, which computes long sizes once.
    for (const int64_t size : asked_) {
      bindings_.bind(symbol_->symbol, size);
      const check::Abstraction record = check::by_record(bindings_);
      for (size_t i = 0; i < nodes.size(); ++i) {
        const auto fault = nodes[i].shape->judge(record).fault;
        if (!fault) continue;
        failed = nodes[i].position;
        done = refused(graph_.node(order_[failed]),
                       fmt::format("with {} = {}: {}", symbol_->name, size, fault->text));
        nodes.resize(i);
      }
    }
    return done;
  }

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
    if (!op) return Error{ErrorCode::unsupported, "the operator is not known to this version"};
    check::ShapeCheck shape(graph_, node, op);
    Trials trials;
    followed_ += shape.weight() / kLong;
    for (size_t i = 0; i < tried_.size(); ++i) {
      auto values = shape.infer(check::by_record(tried_[i]));
      if (values)
        trials.push_back({&tried_[i], *std::move(values)});
      else if (i < kTrials)
        return std::move(values).error();
    }
    return trials;
  }

  // view(x, [2, -1]) of a batch of 2 fits every even size, but means [-1, 12].
  Result<Trials> with_place(NodeId id) {
    const auto places = parts_.inferring_arguments(id);
    Choice* made = find_choice(id, {Choice::Among::places});
    for (size_t k = made != nullptr ? made->chosen : 0; k < places.size(); ++k) {
      const auto& [position, changed] = places[k];
      const Argument old = graph_.node(id).inputs[position].arg;
      set_input(id, position, changed);
      auto results = results_of(id);
      if (results) {
        if (made == nullptr && k + 1 < places.size()) {
          made_choices_.push_back({.among = Choice::Among::places, .node = id});
          made = &made_choices_.back();
        }
        if (made != nullptr) made->chosen = k, made->count = places.size();
        return results;
      }
      set_input(id, position, old);
    }
    if (made != nullptr) made->count = 0;
    auto results = results_of(id);
    if (results || results.error().code == ErrorCode::unsupported || !places.empty())
      return results;
    return with_free_argument(id, std::move(results).error());
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
          set_input(id, i, std::move(changed));
          if (auto results = results_of(id)) return results;
          set_input(id, i, inputs[i].arg);
        }
      }
    return first;
  }

  // Returns `factor` times the freed size plus `offset` as an argument. Its nodes are the first of
  // the graph.
  Result<Argument> freed_size(int64_t factor, int64_t offset = 0) {
    const auto known = size_values_.find({factor, offset});
    if (known != size_values_.end()) return Argument(known->second, Argument::Wrapper::symbolic);
    std::string_view target, name;
    std::vector<NamedArgument> inputs;
    if (offset != 0) {
      target = "_operator.add", name = "add";
      PT2_TRY(Argument multiple, freed_size(factor));
      inputs = {arg("a", std::move(multiple)), arg("b", Argument(offset))};
    } else if (factor != 1) {
      target = "_operator.mul", name = "mul";
      PT2_TRY(Argument one, freed_size(1));
      inputs = {arg("a", std::move(one)), arg("b", Argument(factor))};
    } else {
      target = kSymSize, name = "sym_size_int";
      inputs = {arg("self", Argument(place_.first)),
                arg("dim", Argument(static_cast<int64_t>(place_.second)))};
    }
    PT2_TRY(const Expr expr, sizes_.line(factor, offset));
    PT2_TRY(const SymInt size, spelled_size(program_, expr, factor * old_size_ + offset));
    const std::string unused = graph_.unused_name(name);
    PT2_TRY(const ValueId value, graph_.add_value({.name = unused, .meta = size}));
    Node node{.target = std::string(target),
              .inputs = std::move(inputs),
              .outputs = {Argument(value, Argument::Wrapper::symbolic)}};
    if (graph_.node(order_.front()).name) node.name = unused;
    made_.push_back(graph_.insert_node(std::move(node), order_.front()));
    depends_.resize(graph_.value_count(), false);
    depends_[static_cast<size_t>(value)] = true;
    size_values_.emplace(std::pair(factor, offset), value);
    return Argument(value, Argument::Wrapper::symbolic);
  }

  // Erases what choices needed that were made anew.
  void erase_unused() {
    for (size_t i = made_.size(); i-- > 0;) {
      const ValueId value = only_output(graph_.node(made_[i]));
      if (graph_.uses(value).begin() == graph_.uses(value).end())
        (void)erase_node(program_, made_[i]);
    }
  }

  void set_input(NodeId id, size_t position, Argument argument) {
    changes_.push_back(ChangedArgument{id, position, graph_.node(id).inputs[position].arg});
    graph_.set_node_input(id, position, std::move(argument));
  }

  void set_meta(ValueId value, decltype(GraphValue::meta) meta) {
    changes_.push_back(ChangedValue{value, graph_.value(value).meta, depends(value)});
    graph_.set_value_meta(value, std::move(meta));
    depends_[static_cast<size_t>(value)] = true;
  }

  // Takes back all changes since the node at this position was followed.
  void undo(size_t position) {
    for (; changes_.size() > marks_[position]; changes_.pop_back()) {
      if (auto* value = std::get_if<ChangedValue>(&changes_.back())) {
        depends_[static_cast<size_t>(value->value)] = value->depended;
        graph_.set_value_meta(value->value, std::move(value->meta));
      } else {
        auto& argument = std::get<ChangedArgument>(changes_.back());
        graph_.set_node_input(argument.node, argument.position, std::move(argument.old));
      }
    }
  }

  Result<void> record(NodeId id, const Trials& trials) {
    const std::vector<Argument> outputs = graph_.node(id).outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      std::vector<Tried> tried;
      for (const Trial& trial : trials) {
        if (i >= trial.values.size()) return refused(graph_.node(id), "it gives fewer results");
        tried.push_back({trial.bindings, &trial.values[i]});
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
      set_meta(value, std::move(meta));
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
    set_meta(value, number);
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
  const NumberFinder finder_;
  const FreedUses uses_;
  const std::vector<int64_t> asked_;
  SymbolBindings bindings_;  // hints of the other symbols, from the export, and a size
  std::vector<int64_t> trials_;
  // The trials with these hints, then one of them with other assignments of the other symbols.
  std::vector<SymbolBindings> tried_;
  std::vector<bool> depends_;  // by value id: true if a size of it depends on the symbol
  std::vector<bool> reached_;  // by value id: true if it may hold elements of the freed input
  InputPlace place_{};         // one that has the size
  std::map<std::pair<int64_t, int64_t>, ValueId> size_values_;  // by factor and offset
  std::vector<NodeId> made_;                                    // nodes that were inserted
  std::vector<NodeId> order_;                                   // the other nodes
  std::map<NodeId, size_t> positions_;                          // in order_
  std::vector<Choice> made_choices_;
  std::optional<size_t> again_;  // where to follow again, after a choice was added
  size_t followed_ = 0;
  Multiples multiples_ = Multiples::all;  // among the numbers that may stand for the size
  struct ChangedValue {
    ValueId value{};
    decltype(GraphValue::meta) meta{};
    bool depended = false;
  };
  struct ChangedArgument {
    NodeId node{};
    size_t position = 0;
    Argument old{};
  };
  std::vector<std::variant<ChangedValue, ChangedArgument>> changes_;
  std::vector<size_t> marks_;  // by position: the changes made before the node was followed
};

}  // namespace

Result<void> follow_freed_dim(Program& program, Expr symbol, int64_t old_size,
                              const SymRange& range, std::span<const InputPlace> places) {
  return DimFreer(program, symbol, old_size, range).run(places);
}

}  // namespace pt2
