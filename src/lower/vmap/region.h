// torch.vmap as graphs of 2.13 and later spell it (torch/_functorch/predispatch.py): between
// _vmap_increment_nesting and _vmap_decrement_nesting, _add_batch_dim(x, dim, level) takes the
// batch dimension off a tensor, operators see one element, _remove_batch_dim(y, level, size, dim)
// puts the results together.
#ifndef PT2_LOWER_VMAP_REGION_H
#define PT2_LOWER_VMAP_REGION_H

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "lower/written_memory.h"
#include "pt2/program.h"

namespace pt2 {

// What a node does with batches.
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
  std::vector<NodeId> body{};  // in between
  Argument size{};
  // Values that are not the same for every element of the batch.
  std::unordered_set<ValueId> batched{};
  // Nodes whose random numbers are drawn for all elements by one call, with the batch dimension
  // first (aten/src/ATen/functorch/BatchRulesRandomness.cpp).
  std::unordered_set<NodeId> drawn{};

  bool is_batched(const Argument& argument) const;
  // Whether the node runs for each element: it has a batched input, and does not merely ask for
  // something that all elements have in common, such as their size.
  bool repeats(const Node& node, const Graph& graph) const;
};

// The region from `begin` to `end`, which has no other within. Instead of it a text, "a vmap region
// that …", where its elements cannot be taken one after the other: random numbers, say, are drawn
// for all at once. Linear in the region.
struct VmapReading {
  VmapRegion region{};
  std::optional<std::string> obstacle{};
};
VmapReading read_vmap_region(const Graph& graph, NodeId begin, NodeId end,
                             const WrittenMemory& written);

// Makes the region a call of higher_order.map_impl; or changes nothing and says, in a text as
// above, what in it map_impl does otherwise. The graph is the program's or nested in it;
// expressions that are new get that spelling. Linear in the graph.
std::optional<std::string> map_vmap_region(const Program& program, ExprSpelling spelling,
                                           Graph& graph, const VmapRegion& region);

}  // namespace pt2

#endif  // PT2_LOWER_VMAP_REGION_H
