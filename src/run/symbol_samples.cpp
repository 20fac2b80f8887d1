#include "run/symbol_samples.h"

#include <algorithm>

#include "ir/graph_place.h"

namespace pt2::run {
namespace {

constexpr size_t kSamples = 8;

void bind_hint(const SymInt& size, SymbolBindings& hints) {
  if (!size.is_symbolic() || !size.expr().is_symbol() || !size.hint()) return;
  if (hints.find(size.expr()->symbol) == nullptr) hints.bind(size.expr()->symbol, *size.hint());
}

void bind_hints(const Graph& graph, SymbolBindings& hints) {
  for (ValueId id : graph.values()) {
    const GraphValue& value = graph.value(id);
    if (const auto* number = std::get_if<SymInt>(&value.meta)) bind_hint(*number, hints);
    if (const TensorMeta* meta = value.tensor())
      for (const SymInt& size : meta->sizes) bind_hint(size, hints);
  }
}

int64_t sample(const SymRange& range, size_t symbol, size_t round) {
  constexpr int64_t kFar = int64_t{1} << 40;
  const int64_t low = std::clamp<int64_t>(range.min.value_or(2), 2, kFar);
  const auto step = static_cast<int64_t>(1 + (symbol * 7 + round * (symbol % 5 + 3)) % 29);
  int64_t value = low + step;
  if (round % 2 == 1) value = (low + 23) / 24 * 24 + 24 * step;
  value = std::min(value, range.max.value_or(kFar));
  return std::max(value, range.min.value_or(0));
}

}  // namespace

SymbolSamples sample_symbols(const Program& program) {
  SymbolSamples samples;
  for (const PlacedGraph& placed : placed_graphs(program)) bind_hints(*placed.graph, samples.hints);
  const size_t count = program.expressions->symbol_count();
  std::vector<SymRange> ranges(count);
  for (const RangeConstraint& constraint : program.range_constraints) {
    const Expr key = constraint.key->expr;
    if (key.is_symbol()) ranges[static_cast<size_t>(key->symbol)] = constraint.range;
  }
  if (count == 0) return samples;
  for (size_t round = 0; round < kSamples; ++round) {
    SymbolBindings& bindings = samples.others.emplace_back();
    for (size_t i = 0; i < count; ++i) {
      const SymbolId symbol{static_cast<uint32_t>(i)};
      const Number* hint = samples.hints.find(symbol);
      int64_t value = sample(ranges[i], i, round);
      // The hint says nothing new.
      if (hint != nullptr && *hint == Number(value) && ranges[i].contains(value + 1)) ++value;
      bindings.bind(symbol, value);
    }
  }
  return samples;
}

}  // namespace pt2::run
