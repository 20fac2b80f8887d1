// Rewritings that are passes (src/lower), for the releases that need them.
#include "convert/converter.h"
#include "lower/functional/functionalize.h"
#include "lower/inline_regions.h"
#include "lower/vmap/unvmap.h"

namespace pt2 {

Result<void> rewrite_vmap(Converter& converter) {
  constexpr int kFirstWithVmap = 213;
  constexpr int kFirstWithSrepr = 802;
  if (converter.target.release->number >= kFirstWithVmap) return {};
  const auto spelling = converter.to >= kFirstWithSrepr ? ExprSpelling::srepr : ExprSpelling::str;
  PassResult result = unvmap(converter.program, spelling);
  for (PassFailure& failure : result.failures)
    converter.block({.kind = BlockerKind::function,
                     .text = std::move(failure.text),
                     .node = std::move(failure.node),
                     .first = find_release("2.13")});
  converter.changed = result.changed;
  return {};
}

Result<void> rewrite_gradient_regions(Converter& converter) {
  constexpr int kFirstWithRegions = 204, kFirstWithWrites = 205;
  const int release = converter.target.release->number;
  if (release >= kFirstWithWrites) return {};
  const PassResult result = inline_regions(converter.program.graph, [&](const Graph& region) {
    return release < kFirstWithRegions || !is_functional(region);
  });
  converter.changed = result.changed;
  return {};
}

}  // namespace pt2
