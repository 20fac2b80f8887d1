// Which calls operators refuse. A step's kernel computes whatever it is given: what an operator
// says of its arguments is asked here, once, of the very rule that the reference executor asks.
#include "check/shapes/shape_check.h"
#include "check/shapes/symbol_samples.h"
#include "run/plan/planner.h"

namespace pt2::run {
namespace {

// Whether an operator that refuses tensors of such sizes takes others, no matter: without a step
// the reference executor says which.
bool is_refused(const Graph& graph, const BoundNode& node, const SymbolBindings& hints) {
  // For symbols that no example shows; divisible sizes and single ones.
  constexpr int64_t kSizes[] = {64, 1};
  check::ShapeCheck check(graph, *node.node, node.op);
  const std::vector<SymbolId> symbols = check.symbols();
  for (const int64_t size : kSizes) {
    SymbolBindings bindings = hints;
    bool is_shown = true;
    for (const SymbolId symbol : symbols) {
      if (hints.find(symbol) != nullptr) continue;
      is_shown = false;
      bindings.bind(symbol, size);
    }
    const auto results = check.infer(check::by_record(bindings));
    if (results || results.error().code == ErrorCode::unsupported) return false;
    if (is_shown) break;
  }
  return true;
}

}  // namespace

Nodes refused_nodes(const BoundGraph& bound) {
  const PlacedGraph placed{.graph = bound.graph};
  const SymbolBindings hints = check::hint_bindings({&placed, 1});
  Nodes out;
  for (const BoundNode& node : bound.nodes)
    if (own_row(node) != nullptr && is_refused(*bound.graph, node, hints)) out.insert(&node);
  return out;
}

}  // namespace pt2::run
