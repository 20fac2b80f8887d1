// Symbols, their ranges and hints (torch/fx/experimental/symbolic_shapes.py, ShapeEnv).
#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "analysis/program_checks.h"
#include "base/printable.h"
#include "ir/graph_place.h"
#include "ir/walk.h"
#include "schema/path.h"

namespace pt2 {
namespace {

class SymbolChecks {
 public:
  SymbolChecks(const Program& program, const ProgramPlace& place, Diagnostics& findings)
      : program_(program),
        place_(place),
        findings_(findings),
        symbols_(program.expressions->symbol_count()) {}

  void run() {
    for (const RangeConstraint& constraint : program_.range_constraints) {
      // An empty range has a finding of its own.
      if (!constraint.range.is_empty())
        ranges_.emplace(constraint.key->expr.operator->(), constraint.range);
      for (SymbolId id : free_symbols(constraint.key->expr)) at(id).constrained = true;
    }
    const std::vector<PlacedGraph> graphs = placed_graphs(program_);
    for (const PlacedGraph& placed : graphs) for_each_meta(placed, &SymbolChecks::collect);
    for (const PlacedGraph& placed : graphs) for_each_meta(placed, &SymbolChecks::check);
  }

 private:
  struct Symbol {
    bool constrained = false;  // by a range
    bool given = false;        // by an input
    bool computed = false;     // by a node
    bool reported = false;
    std::optional<int64_t> hint{};
  };
  struct Origin {
    const PlacedGraph& placed;
    const GraphValue& value;
  };
  using Visit = void (SymbolChecks::*)(Expr expr, std::optional<int64_t> hint,
                                       const Origin& origin);

  Symbol& at(SymbolId id) { return symbols_[static_cast<size_t>(id)]; }

  void for_each_meta(const PlacedGraph& placed, Visit visit) {
    for (ValueId id : placed.graph->values()) {
      const Origin origin{placed, placed.graph->value(id)};
      for_each_number(origin.value.meta, [&]<class T>(const Symbolic<T>& number) {
        std::optional<int64_t> hint;
        if constexpr (std::same_as<T, int64_t>) hint = number.hint();
        if (number.is_symbolic()) (this->*visit)(number.expr(), hint, origin);
      });
    }
  }

  // The free symbols of each expression, found once because many sizes share an expression.
  const std::vector<SymbolId>& symbols_of(Expr expr) {
    auto [entry, is_new] = symbols_of_.try_emplace(expr.operator->());
    if (is_new) entry->second = free_symbols(expr);
    return entry->second;
  }

  // The texts are bounded: an expression can be as long as the file and have as many findings as
  // symbols.
  const std::string& shown(Expr expr) {
    auto [entry, is_new] = shown_.try_emplace(expr.operator->());
    if (is_new) entry->second = printable(print_expr(expr));
    return entry->second;
  }

  void collect(Expr expr, std::optional<int64_t> hint, const Origin& origin) {
    const Definition::By by = origin.value.definition.by;
    if (by == Definition::By::node)
      for (SymbolId id : symbols_of(expr)) at(id).computed = true;
    if (!expr.is_symbol()) return;
    Symbol& symbol = at(expr->symbol);
    if (by == Definition::By::graph_input && origin.placed.caller == nullptr) symbol.given = true;
    if (!symbol.hint && hint) {
      symbol.hint = hint;
      hints_.bind(expr->symbol, *hint);
    }
  }

  void check(Expr expr, std::optional<int64_t> hint, const Origin& origin) {
    const auto add = [&](Rule rule, std::string text) {
      std::string where = fmt::format(
          "{}{}.{}", place_.program, origin.placed.place,
          origin.value.kind() == ValueKind::tensor ? "tensor_values" : "sym_int_values");
      // Bounded, because each symbol of the value may have a finding.
      constexpr size_t kShownBytes = 200;
      schema::append_key_step(where, bounded(origin.value.name, kShownBytes));
      findings_.add(rule, std::move(where), std::move(text));
    };
    for (SymbolId id : symbols_of(expr)) {
      Symbol& symbol = at(id);
      const std::string name = program_.expressions->symbol_name(id);
      if (symbol.reported || symbol.constrained || symbol.given) continue;
      if (symbol.computed && is_unbacked(name)) continue;
      symbol.reported = true;
      add(Rule::undefined_symbol,
          fmt::format("nothing defines the symbol {} of {}", name, shown(expr)));
    }
    if (hint && hints_seen_[expr.operator->()].insert(*hint).second) check_hint(expr, *hint, add);
  }

  template <class Add>
  void check_hint(Expr expr, int64_t hint, Add add) {
    const auto range = ranges_.find(expr.operator->());
    if (range != ranges_.end() && !range->second.contains(hint))
      add(Rule::hint_range, fmt::format("the hint of {} is {}, expected one in {}", shown(expr),
                                        hint, print(range->second)));
    const auto value = evaluate_integer(expr, hints_);
    if (value && *value != hint)
      add(Rule::hint_differs, fmt::format("the hint of {} is {}, its symbols' hints make it {}",
                                          shown(expr), hint, *value));
  }

  const Program& program_;
  const ProgramPlace& place_;
  Diagnostics& findings_;
  std::vector<Symbol> symbols_;
  SymbolBindings hints_;
  std::unordered_map<const ExprNode*, SymRange> ranges_;
  std::unordered_map<const ExprNode*, std::vector<SymbolId>> symbols_of_;
  std::unordered_map<const ExprNode*, std::string> shown_;
  std::unordered_map<const ExprNode*, std::unordered_set<int64_t>> hints_seen_;
};

}  // namespace

void check_symbols(const Program& program, const ProgramPlace& place, Diagnostics& findings) {
  SymbolChecks(program, place, findings).run();
}

}  // namespace pt2
