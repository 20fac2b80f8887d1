// torch.vmap as graphs of 2.13 and later spell it (torch/_functorch/predispatch.py). A region lies
// between _vmap_increment_nesting and _vmap_decrement_nesting. In it, _add_batch_dim(x, dim, level)
// removes the batch dimension from a tensor, operators see one element, and _remove_batch_dim(y,
// level, size, dim) stacks the results.
#ifndef PT2_LOWER_VMAP_REGION_H
#define PT2_LOWER_VMAP_REGION_H

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "lower/written_memory.h"
#include "pt2/ir/program.h"

namespace pt2 {

// The role of a node in a vmap region.
enum class VmapStep : uint8_t {
  none,
  load,  // lazy_load_decompositions, which does nothing
  begin,
  add,
  remove,
  end,
};
VmapStep vmap_step(std::string_view target);

struct VmapRegion {
  NodeId begin{}, end{};
  std::vector<NodeId> body{};  // the nodes between begin and end
  Argument size{};
  // Values that differ between the elements of the batch.
  std::unordered_set<ValueId> batched{};
  // Nodes for which one call draws the random numbers of all elements, with the batch as first
  // dimension (aten/src/ATen/functorch/BatchRulesRandomness.cpp).
  std::unordered_set<NodeId> drawn{};

  bool is_batched(const Argument& argument) const;
  bool takes_batched(const Node& node) const;
  // True if the node runs once per element: it has a batched input, and it does not merely query a
  // property that all elements share, such as their size.
  bool repeats(const Node& node, const Graph& graph) const;
};

// Reads the region from `begin` to `end`, which must contain no other region. Returns a text
// instead, "a vmap region that …", if the elements cannot be computed one after another: for
// example, if random numbers are drawn for all elements at once. Linear in the region.
struct VmapReading {
  VmapRegion region{};
  std::optional<std::string> obstacle{};
};
VmapReading read_vmap_region(const Graph& graph, NodeId begin, NodeId end,
                             const WrittenMemory& written);

// Replaces the region by a call of higher_order.map_impl. If map_impl would compute something else,
// changes nothing and returns a text as above. The graph is the program's graph or a nested one;
// `spelling` is the spelling of new expressions. Linear in the graph.
std::optional<std::string> map_vmap_region(const Program& program, ExprSpelling spelling,
                                           Graph& graph, const VmapRegion& region);

}  // namespace pt2

#endif  // PT2_LOWER_VMAP_REGION_H
