// Regions of another gradient mode as the nodes that they run.
#pragma once

#include <functional>

#include "lower/pass.h"
#include "pt2/graph.h"

namespace pt2 {

using WantsRegion = std::function<bool(const Graph& region)>;
PassResult inline_regions(Graph& graph, const WantsRegion& wants);

}  // namespace pt2
