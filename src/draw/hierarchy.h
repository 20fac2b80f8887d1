// The first step to a picture: which box contains which.
#ifndef PT2_DRAW_HIERARCHY_H
#define PT2_DRAW_HIERARCHY_H

#include <unordered_map>
#include <vector>

#include "pt2/tools/drawing.h"

namespace pt2::picture {

// The boxes and values of a graph; value ids of all graphs are numbered together.
struct Placed {
  const Graph* graph = nullptr;
  uint32_t box = kNoBox;               // of the graph
  uint32_t first_value = 0;            // number of the graph's value 0
  std::vector<uint32_t> node_boxes{};  // by NodeId
};

// Fills in boxes, without inputs and outputs, and values. Returns graphs in the order of their
// boxes.
std::vector<Placed> build_hierarchy(Drawing& drawing);

// Returns the children with runs of equal ones folded into repeats, and cut into parts if they are
// still too many. `hashes` are indexed by box; new boxes append theirs. Linear.
std::vector<uint32_t> fold_children(Drawing& drawing, std::vector<uint64_t>& hashes,
                                    std::vector<uint32_t> children);

}  // namespace pt2::picture

#endif  // PT2_DRAW_HIERARCHY_H
