// The nodes that open and close regions of torch.autocast.
#ifndef PT2_LOWER_AUTOCAST_H
#define PT2_LOWER_AUTOCAST_H

#include <optional>

#include "pt2/dtype.h"
#include "pt2/ir/graph.h"

namespace pt2 {

// `calls`: the node calls a nested graph, the region. `enters`, `leaves`: the region is the nodes
// between two nodes.
enum class AutocastSwitch : uint8_t { none, calls, enters, leaves };
AutocastSwitch autocast_switch(const Node& node);

// Returns the region (ops/forms/autocast.h) that a node opens within `around`. Nothing if its
// arguments are not a device, a dtype or None, and an enabled flag.
std::optional<std::optional<Dtype>> autocast_region_of(const Node& node,
                                                       std::optional<Dtype> around);

// Inlines the regions that cast nothing, if their graphs fit the calls and return tensors or
// numbers. True if there are any.
bool inline_autocast_regions(Graph& graph);

}  // namespace pt2

#endif  // PT2_LOWER_AUTOCAST_H
