// The nodes that open and close regions of torch.autocast.
#ifndef PT2_LOWER_AUTOCAST_H
#define PT2_LOWER_AUTOCAST_H

#include <optional>

#include "pt2/dtype.h"
#include "pt2/ir/graph.h"

namespace pt2 {

// `calls`: the region is a graph of the node's. `enters`, `leaves`: it is the nodes between two.
enum class AutocastSwitch : uint8_t { none, calls, enters, leaves };
AutocastSwitch autocast_switch(const Node& node);

// The region (ops/forms/autocast.h) that a node opens within `around`. Nothing where its arguments
// are not a device, a dtype or none, and whether it is enabled.
std::optional<std::optional<Dtype>> autocast_region_of(const Node& node,
                                                       std::optional<Dtype> around);

// Regions that cast nothing become their nodes, where their graphs fit and give tensors.
void inline_autocast_regions(Graph& graph);

}  // namespace pt2

#endif  // PT2_LOWER_AUTOCAST_H
