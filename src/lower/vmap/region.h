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
  // Nodes whose random numbers one call draws for all elements, with the batch as first dimension
  // (aten/src/ATen/functorch/BatchRulesRandomness.cpp).
  std::unordered_set<NodeId> drawn{};

  bool is_batched(const Argument& argument) const;
  // Whether the node runs for each element: it has a batched input and does more than ask for a
  // property that all elements share, such as their size.
  bool repeats(const Node& node, const Graph& graph) const;
};

// Reads the region from `begin` to `end`, which must contain no other region. Gives a text instead,
// "a vmap region that …", where the elements cannot be computed one after the other: for example,
// when random numbers are drawn for all at once. Linear in the region.
struct VmapReading {
  VmapRegion region{};
  std::optional<std::string> obstacle{};
};
VmapReading read_vmap_region(const Graph& graph, NodeId begin, NodeId end,
                             const WrittenMemory& written);

// Replaces the region by a call of higher_order.map_impl. Where map_impl would compute something
// else, changes nothing and returns a text as above. The graph is the program's or a nested one;
// `spelling` is that of new expressions. Linear in the graph.
std::optional<std::string> map_vmap_region(const Program& program, ExprSpelling spelling,
                                           Graph& graph, const VmapRegion& region);

}  // namespace pt2

#endif  // PT2_LOWER_VMAP_REGION_H
