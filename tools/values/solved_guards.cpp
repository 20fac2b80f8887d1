#include "tools/values/solved_guards.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

#include "pt2/ir/guards.h"
#include "tools/values/shapes.h"

namespace pt2::tools {
namespace {

// The number of sizes that are tried one by one; larger sizes are only sampled.
constexpr int64_t kTried = 4096;
// A list of at most this many sizes is printed in full.
constexpr size_t kShownSizes = 6;
// The maximum number of expression nodes to evaluate in total; guards beyond it stay unsolved.
constexpr size_t kMostEvaluated = 20'000'000;

class Solver {
 public:
  explicit Solver(const Program& program)
      : program_(program),
        names_(user_input_names(program)),
        guard_names_(names_),
        texts_(guard_texts(program)) {
    for (const ArgumentSpec& spec : program.signature.user_inputs()) {
      const auto id = spec.is_constant() ? std::nullopt : program.graph.find_value(spec.name);
      inputs_.push_back(id ? &program.graph.value(*id) : nullptr);
    }
    for (const std::string& text : program.guards_code)
      guards_.push_back(parse_guard(*program.expressions, text));
  }

  std::vector<std::string> run() {
    std::map<SymbolId, std::vector<size_t>> by_symbol;
    std::vector<bool> said(guards_.size(), false);
    for (size_t i = 0; i < guards_.size(); ++i)
      if (const auto symbol = only_symbol(i)) by_symbol[*symbol].push_back(i);
    std::vector<std::string> out;
    for (const auto& [symbol, places] : by_symbol) {
      const auto sizes = allowed_sizes(symbol, places);
      if (!sizes) continue;
      if (!sizes->empty()) out.push_back(fmt::format("{}: {}", place_of(symbol), *sizes));
      for (const size_t i : places) said[i] = true;
    }
    for (size_t i = 0; i < texts_.size(); ++i)
      if (!said[i]) out.push_back(texts_[i]);
    return out;
  }

 private:
  // Returns a source's number in the symbols of the input types; null if it is not recorded.
  const SymInt* recorded(const GuardSource& source) const {
    const auto found = guard_names_.find(source);
    if (!found || found->input >= inputs_.size() || inputs_[found->input] == nullptr)
      return nullptr;
    const GraphValue& input = *inputs_[found->input];
    if (source.property == GuardSource::Property::value) return std::get_if<SymInt>(&input.meta);
    const TensorMeta* meta = input.tensor();
    if (meta == nullptr) return nullptr;
    if (source.property == GuardSource::Property::storage_offset) return &meta->storage_offset;
    const auto& list = source.property == GuardSource::Property::size ? meta->sizes : meta->strides;
    const auto dim = static_cast<size_t>(source.dim);
    return dim < list.size() ? &list[dim] : nullptr;
  }

  // Returns the only symbol on which the guard depends; nullopt if there is none, or several.
  std::optional<SymbolId> only_symbol(size_t i) const {
    if (!guards_[i]) return std::nullopt;
    std::optional<SymbolId> found;
    for (const GuardSource& source : guards_[i]->sources) {
      const SymInt* size = recorded(source);
      if (size == nullptr) return std::nullopt;
      if (!size->is_symbolic()) continue;
      for (const SymbolId symbol : free_symbols(size->expr())) {
        if (found && *found != symbol) return std::nullopt;
        found = symbol;
      }
    }
    return found;
  }

  // Returns the number of expression nodes that one evaluation of the guard visits.
  size_t cost_of(size_t i) const {
    size_t cost = std::min(guards_[i]->expr->size, kMostEvaluated);
    for (const GuardSource& source : guards_[i]->sources)
      if (const SymInt* size = recorded(source); size != nullptr && size->is_symbolic())
        cost += std::min(size->expr()->size, kMostEvaluated);
    return cost;
  }

  std::optional<bool> holds(size_t i, SymbolId symbol, int64_t value) {
    const size_t cost = cost_of(i);
    if (cost > left_to_evaluate_) return std::nullopt;
    left_to_evaluate_ -= cost;
    SymbolBindings bindings;
    bindings.bind(symbol, value);
    const auto held =
        evaluate(*guards_[i], [&](const GuardSource& source) -> std::optional<Number> {
          const SymInt* size = recorded(source);
          if (size == nullptr) return std::nullopt;
          if (!size->is_symbolic()) return Number(size->literal());
          const auto number = evaluate_integer(size->expr(), bindings);
          return number ? std::optional(Number(*number)) : std::nullopt;
        });
    return held ? std::optional(*held) : std::nullopt;
  }

  SymRange range_of(SymbolId symbol) const {
    ExprPool& pool = *program_.expressions;
    const RangeConstraint* found = find_range(program_, pool.symbol(pool.symbol_name(symbol)));
    return found == nullptr ? SymRange() : found->range;
  }

  // Returns the allowed sizes; "" if the whole range is allowed, nullopt if there is no short
  // description.
  std::optional<std::string> allowed_sizes(SymbolId symbol, const std::vector<size_t>& places) {
    const SymRange range = range_of(symbol);
    const int64_t low = std::max<int64_t>(range.min.value_or(0), 0);
    const int64_t high = range.max.value_or(INT64_MAX);
    const int64_t count = std::min(high - low, kTried - 1) + 1, end = low + count - 1;
    size_t cost = 0;
    for (const size_t i : places) cost += cost_of(i);
    if (cost > left_to_evaluate_ / kTried) return std::nullopt;
    std::vector<int64_t> sizes;
    const auto allowed = [&](int64_t size) -> std::optional<bool> {
      for (const size_t i : places) {
        const auto held = holds(i, symbol, size);
        if (!held || !*held) return held;
      }
      return true;
    };
    for (int64_t i = 0; i < count; ++i) {  // `end` may be the largest number
      const auto answer = allowed(low + i);
      if (!answer) return std::nullopt;
      if (*answer) sizes.push_back(low + i);
    }
    const bool is_whole = end == high;
    const bool all = static_cast<int64_t>(sizes.size()) == count;
    if (is_whole) return all ? "" : listed(sizes, true);
    const int64_t step = step_of(sizes);
    // Beyond the tried sizes, samples must continue the pattern.
    for (int64_t far = sizes.empty() ? high : end; step > 0 && far < high / 4; far *= 4)
      for (int64_t size = far; size <= far + step; ++size)
        if (const auto answer = allowed(size);
            !answer || *answer != ((size - sizes.front()) % step == 0))
          return std::nullopt;
    if (all) return "";
    return step > 0 ? std::optional(listed(sizes, false)) : std::nullopt;
  }

  // Returns the constant distance between consecutive sizes; 0 if it is not constant.
  static int64_t step_of(const std::vector<int64_t>& sizes) {
    if (sizes.size() < 2) return 0;
    const int64_t step = sizes[1] - sizes[0];
    for (size_t i = 1; i < sizes.size(); ++i)
      if (sizes[i] - sizes[i - 1] != step) return 0;
    return step;
  }

  static std::optional<std::string> listed(const std::vector<int64_t>& sizes, bool is_whole) {
    if (sizes.empty()) return "no size at all";
    const int64_t step = step_of(sizes);
    if (is_whole && sizes.size() <= kShownSizes) return fmt::format("{}", fmt::join(sizes, ", "));
    if (step == 0) return std::nullopt;
    if (step == 1)
      return is_whole ? fmt::format("{} to {}", sizes.front(), sizes.back())
                      : fmt::format("at least {}", sizes.front());
    if (is_whole) return fmt::format("{}, {}, … {}", sizes[0], sizes[1], sizes.back());
    return fmt::format("{}, {}, {}, …", sizes[0], sizes[1], sizes[1] + step);
  }

  // Returns the input dimension, or the number, that is the symbol.
  std::string place_of(SymbolId symbol) const {
    const auto is_symbol = [&](const SymInt& size) {
      return size.is_symbolic() && size.expr().is_symbol() && size.expr()->symbol == symbol;
    };
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i] == nullptr) continue;
      if (const auto* number = std::get_if<SymInt>(&inputs_[i]->meta);
          number != nullptr && is_symbol(*number))
        return names_[i];
      const TensorMeta* meta = inputs_[i]->tensor();
      for (size_t dim = 0; meta != nullptr && dim < meta->sizes.size(); ++dim)
        if (is_symbol(meta->sizes[dim])) return fmt::format("{} dim {}", names_[i], dim);
    }
    return program_.expressions->symbol_name(symbol);
  }

  const Program& program_;
  const std::vector<std::string> names_;
  const GuardNames guard_names_;
  const std::vector<std::string> texts_;
  std::vector<const GraphValue*> inputs_;
  std::vector<Result<Guard>> guards_;
  size_t left_to_evaluate_ = kMostEvaluated;
};

}  // namespace

std::vector<std::string> solved_guards(const Program& program) { return Solver(program).run(); }

}  // namespace pt2::tools
