// Which box stands in which: the first step to a picture.
#ifndef PT2_DRAW_HIERARCHY_H
#define PT2_DRAW_HIERARCHY_H

#include <unordered_map>
#include <vector>

#include "pt2/tools/drawing.h"

namespace pt2::picture {

// What nodes and their values became; ids of values count through all graphs.
struct Placed {
  const Graph* graph = nullptr;
  uint32_t box = kNoBox;               // of the graph
  uint32_t first_value = 0;            // the graph's value 0
  std::vector<uint32_t> node_boxes{};  // by NodeId
};

// Fills in boxes, without inputs and outputs, and values. Graphs in the order of their boxes.
std::vector<Placed> build_hierarchy(Drawing& drawing);

// The children with runs of equal ones folded into repeats, and with parts where there are still
// too many. `hashes` are those of boxes, by their number; new boxes add theirs. Linear.
std::vector<uint32_t> fold_children(Drawing& drawing, std::vector<uint64_t>& hashes,
                                    std::vector<uint32_t> children);

}  // namespace pt2::picture

#endif  // PT2_DRAW_HIERARCHY_H
