#include "check/shapes/symbol_samples.h"

#include <algorithm>
#include <random>

#include "ir/symbols/sym_int.h"
#include "pt2/check_inputs.h"
#include "pt2/ir/expr_bounds.h"

namespace pt2::check {
namespace {

// Calls `visit(const SymInt&)` for each number of the graph and each size of its tensors that is a
// symbol.
template <class Visit>
void for_each_symbol(const Graph& graph, const Visit& visit) {
  const auto see = [&](const SymInt& number) {
    if (number.is_symbolic() && number.expr().is_symbol()) visit(number);
  };
  for (ValueId id : graph.values()) {
    const GraphValue& value = graph.value(id);
    if (const auto* number = std::get_if<SymInt>(&value.meta)) see(*number);
    if (const TensorMeta* meta = value.tensor()) std::ranges::for_each(meta->sizes, see);
  }
}

// Returns names of symbols that do not depend on the spelling in the program, because releases
// before 2.9 rename symbols. A symbol that is a value's size gets its rank in the order of values;
// other symbols keep their names.
std::vector<std::string> lasting_names(const Program& program) {
  std::vector<std::string> names;
  for (size_t i = 0; i < program.expressions->symbol_count(); ++i)
    names.push_back(program.expressions->symbol_name(SymbolId{static_cast<uint32_t>(i)}));
  std::vector<bool> seen(names.size());
  size_t rank = 0;
  for_each_symbol(program.graph, [&](const SymInt& size) {
    const auto symbol = static_cast<size_t>(size.expr()->symbol);
    if (!seen[symbol]) names[symbol] = std::to_string(rank++);
    seen[symbol] = true;
  });
  return names;
}

// The symbols of a violated condition, and the condition itself if an assertion gives it.
struct Conflict {
  std::vector<SymbolId> symbols;
  Expr condition{};
};

// `input` is null if the graph does not have it.
Expr source_expr(const GuardSource& source, const GraphValue* input, ExprPool& pool) {
  if (input == nullptr) return {};
  const SymInt* size = std::get_if<SymInt>(&input->meta);
  const TensorMeta* meta = input->tensor();
  const auto dim = static_cast<size_t>(source.dim);
  if (meta != nullptr && source.property == GuardSource::Property::size && dim < meta->sizes.size())
    size = &meta->sizes[dim];
  return size == nullptr ? Expr() : expression_of(*size, pool);
}

class Search {
 public:
  Search(const Program& program, const SymbolBindings& hints, std::span<ShapeCheck* const> nodes)
      : program_(program),
        hints_(hints),
        budget_(kMaxJudgements + kPasses * nodes.size()),
        ranges_(program.range_constraints),
        symbols_(program.expressions->symbol_count()),
        guards_(sourced_guards(program)),
        lasting_names_(lasting_names(program)),
        random_(symbols_) {
    for (ShapeCheck* node : nodes) nodes_.push_back({node, node->weight()});
    constexpr size_t kShort = 64;  // characters, as in ShapeCheck::weight
    for (const SourcedGuard& each : guards_) {
      conditions_ += each.guard.text.size();
      // Many guards may read one long expression.
      for (const Expr source : each.sources)
        if (source) conditions_ += source->size;
    }
    for (const RangeConstraint& constraint : program.range_constraints)
      if (constraint.key != nullptr) conditions_ += constraint.key->text.size();
    conditions_ /= kShort;
    for (size_t i = 0; i < symbols_; ++i) {
      const SymbolId symbol{static_cast<uint32_t>(i)};
      const SymRange range = ranges_.find(symbol);
      if (hints.find(symbol) != nullptr && (!range.min || range.min != range.max))
        free_.push_back(symbol);
    }
  }

  // Returns an assignment within the ranges alone. The draws for a symbol do not depend on other
  // symbols, so a program gets the same verdict before and after a pass.
  SymbolBindings draw_all(uint32_t round) {
    for (size_t i = 0; i < symbols_; ++i) {
      const SymbolId symbol{static_cast<uint32_t>(i)};
      std::seed_seq seed(lasting_names_[i].begin(), lasting_names_[i].end());
      random_[i].seed(seed);
      random_[i].discard(round * kDrawsOfARound);
      draw(symbol, round == kNeighbours ? kStyles : round % kStyles);
    }
    return bindings_;
  }

  // Returns an assignment, repaired if it violates a condition; nothing if repairs do not help.
  std::optional<SymbolBindings> find(uint32_t round) {
    draw_all(round);
    for (size_t repair = 0; repair < kMaxRepairs; ++repair) {
      auto conflict = find_conflict();
      if (budget_ == 0) return std::nullopt;
      if (!conflict && !is_example()) return bindings_;
      if (!conflict) conflict = Conflict{free_, {}};
      // A condition without symbols fails under every assignment.
      if (conflict->symbols.empty()) return std::nullopt;
      if (repair % 2 == 1 || !solve(conflict->condition)) redraw(*conflict);
    }
    return std::nullopt;
  }

 private:
  static constexpr uint32_t kStyles = 4;
  // The round that draws neighbours of the hints: no divisor has both as multiples, so that a
  // quotient rounded up and one rounded down differ.
  static constexpr uint32_t kNeighbours = 3;
  static constexpr size_t kMaxRepairs = 64;
  static constexpr size_t kDrawsOfARound = 3 * kMaxRepairs;
  // Budget in judgements: twice what the assignments of a survey need, plus a constant for small
  // programs.
  static constexpr size_t kPasses = 40;
  static constexpr size_t kMaxJudgements = 100'000;

  int64_t below(SymbolId symbol, int64_t bound) {
    return static_cast<int64_t>(random_[static_cast<size_t>(symbol)]()) % bound;
  }

  // Assumptions about divisors often hold for multiples of the hint and of 24.
  void draw(SymbolId symbol, uint32_t style) {
    constexpr int64_t kFar = int64_t{1} << 40;
    const SymRange range = ranges_.find(symbol);
    const int64_t low = std::clamp<int64_t>(range.min.value_or(2), 2, kFar);
    const Number* hint = hints_.find(symbol);
    const auto* recorded = hint == nullptr ? nullptr : std::get_if<int64_t>(hint);
    // A file may record any number as a hint.
    const int64_t example = recorded == nullptr ? -kFar : std::clamp(*recorded, -kFar, kFar);
    const int64_t high = std::max(low, range.max.value_or(kFar));
    int64_t value = low + below(symbol, std::min<int64_t>(high - low, 29) + 1);
    if (style == 1) value = (low + 23) / 24 * 24 + 24 * below(symbol, 8);
    if (style == 2 && std::abs(example) < kFar) value = example * (1 + below(symbol, 6));
    if (style == 3 && std::abs(example) < kFar) value = example + below(symbol, 8);
    if (style == kStyles && std::abs(example) < kFar)
      value = range.max && *range.max <= example ? example - 1 : example + 1;
    value = std::min(value, range.max.value_or(kFar));
    bindings_.bind(symbol, std::max(value, range.min.value_or(0)));
  }

  // True if the assignment is the exported example, whose verdict is known already.
  bool is_example() const {
    return !free_.empty() && std::ranges::all_of(free_, [&](SymbolId symbol) {
      return *bindings_.find(symbol) == *hints_.find(symbol);
    });
  }

  void redraw(const Conflict& conflict) {
    for (SymbolId symbol : conflict.symbols)
      draw(symbol, static_cast<uint32_t>(below(symbol, kStyles)));
  }

  // Makes an equation true by binding a symbol that is alone on one side.
  bool solve(Expr condition) {
    if (!condition || condition->op != ExprOp::equal) return false;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const Expr symbol = condition->args[side];
      if (!symbol.is_symbol()) continue;
      const auto value = evaluate_integer(condition->args[1 - side], bindings_);
      if (!value || !ranges_.find(symbol->symbol).contains(*value)) continue;
      bindings_.bind(symbol->symbol, *value);
      return true;
    }
    return false;
  }

  // False once the budget is spent.
  bool spend(size_t weight) {
    budget_ -= std::min(budget_, weight);
    return budget_ > 0;
  }

  std::optional<Conflict> find_conflict() {
    if (!spend(conditions_)) return std::nullopt;
    for (const RangeConstraint& constraint : program_.range_constraints) {
      if (constraint.key == nullptr) continue;
      const Expr key = constraint.key->expr;
      const auto value = evaluate_integer(key, bindings_);
      if (value && !constraint.range.contains(*value)) return Conflict{free_symbols(key)};
    }
    for (const SourcedGuard& guard : guards_)
      if (auto conflict = broken_guard(guard)) return conflict;
    const Abstraction record = by_record(bindings_);
    for (size_t i = 0; i < nodes_.size() && spend(nodes_[i].weight); ++i) {
      ShapeCheck* node = nodes_[i].check;
      if (!node->judge(record).is_refused()) continue;
      // A node that refused once is asked first from now on.
      std::rotate(nodes_.begin(), nodes_.begin() + static_cast<ptrdiff_t>(i),
                  nodes_.begin() + static_cast<ptrdiff_t>(i) + 1);
      return Conflict{node->symbols(), node->condition()};
    }
    return std::nullopt;
  }

  std::optional<Conflict> broken_guard(const SourcedGuard& sourced) {
    const Guard& guard = sourced.guard;
    for (size_t i = 0; i < guard.sources.size(); ++i) {
      if (!sourced.sources[i]) return std::nullopt;
      const auto value = evaluate(sourced.sources[i], bindings_);
      if (!value) return std::nullopt;
      source_values_.bind(guard.sources[i].symbol->symbol, *value);
    }
    const auto holds = evaluate(guard.expr, source_values_);
    const bool* flag = holds ? std::get_if<bool>(&*holds) : nullptr;
    if (flag == nullptr || *flag) return std::nullopt;
    Conflict conflict;
    for (const Expr expr : sourced.sources)
      for (SymbolId symbol : free_symbols(expr)) conflict.symbols.push_back(symbol);
    return conflict;
  }

  const Program& program_;
  const SymbolBindings& hints_;
  struct Judged {
    ShapeCheck* check;
    size_t weight;
  };
  std::vector<Judged> nodes_;
  size_t conditions_ = 0;  // the weight of all ranges and guards
  size_t budget_;          // remaining judgements, by weight: bounds the search to linear time
  const SymbolRanges ranges_;
  const size_t symbols_;
  const std::vector<SourcedGuard> guards_;
  std::vector<SymbolId> free_;  // symbols with a hint whose ranges allow other values
  const std::vector<std::string> lasting_names_;
  std::vector<std::minstd_rand> random_;  // one for each symbol
  SymbolBindings bindings_;
  // Of all guards: one object for each would have as many places as the program has symbols.
  SymbolBindings source_values_;
};

}  // namespace

std::vector<SourcedGuard> sourced_guards(const Program& program) {
  std::vector<const GraphValue*> inputs;
  for (const ArgumentSpec& spec : program.signature.user_inputs()) {
    const auto id = program.graph.find_value(spec.name);
    inputs.push_back(id ? &program.graph.value(*id) : nullptr);
  }
  const GuardNames names(user_input_names(program));
  std::vector<SourcedGuard> guards;
  for (Guard& guard : parse_guards(program)) {
    SourcedGuard& sourced = guards.emplace_back(SourcedGuard{std::move(guard)});
    for (const GuardSource& source : sourced.guard.sources) {
      const auto found = names.find(source);
      const bool is_known = found && found->input < inputs.size();
      sourced.sources.push_back(
          source_expr(source, is_known ? inputs[found->input] : nullptr, *program.expressions));
    }
  }
  return guards;
}

SymbolBindings hint_bindings(std::span<const PlacedGraph> graphs) {
  SymbolBindings hints;
  for (const PlacedGraph& placed : graphs)
    for_each_symbol(*placed.graph, [&](const SymInt& size) {
      const SymbolId symbol = size.expr()->symbol;
      if (size.hint() && hints.find(symbol) == nullptr) hints.bind(symbol, *size.hint());
    });
  return hints;
}

SymbolBindings possible_hints(const Program& program, std::span<const PlacedGraph> graphs) {
  const SymbolBindings hints = hint_bindings(graphs);
  std::vector<bool> is_possible(program.expressions->symbol_count(), true);
  for (const RangeConstraint& each : program.range_constraints) {
    if (each.key == nullptr || !each.key->expr.is_symbol()) continue;
    const SymbolId symbol = each.key->expr->symbol;
    const Number* hint = hints.find(symbol);
    const auto* number = hint != nullptr ? std::get_if<int64_t>(hint) : nullptr;
    if (number != nullptr && !each.range.contains(*number))
      is_possible[static_cast<size_t>(symbol)] = false;
  }
  SymbolBindings possible;
  for (size_t i = 0; i < is_possible.size(); ++i) {
    const SymbolId symbol{static_cast<uint32_t>(i)};
    if (const Number* hint = hints.find(symbol); hint != nullptr && is_possible[i])
      possible.bind(symbol, *hint);
  }
  return possible;
}

std::vector<SymbolBindings> admissible_bindings(const Program& program, const SymbolBindings& hints,
                                                std::span<ShapeCheck* const> nodes, size_t count) {
  std::vector<SymbolBindings> found;
  Search search(program, hints, nodes);
  // Half of the rounds may find no assignment.
  for (uint32_t round = 0; round < 2 * count && found.size() < count; ++round)
    if (auto bindings = search.find(round)) found.push_back(*std::move(bindings));
  return found;
}

std::vector<SymbolBindings> ranged_bindings(const Program& program, const SymbolBindings& hints,
                                            size_t count) {
  std::vector<SymbolBindings> drawn;
  Search search(program, hints, {});
  for (uint32_t round = 0; round < count; ++round) drawn.push_back(search.draw_all(round));
  return drawn;
}

}  // namespace pt2::check
