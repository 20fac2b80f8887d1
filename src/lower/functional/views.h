// Which results of a node share memory with its arguments, and how a write through such a view is
// done again on what it is a view of (aten/src/ATen/FunctionalInverses.cpp).
#ifndef PT2_LOWER_FUNCTIONAL_VIEWS_H
#define PT2_LOWER_FUNCTIONAL_VIEWS_H

#include <cstdint>
#include <optional>
#include <string_view>

#include "ops/table.h"
#include "pt2/graph.h"

namespace pt2 {

using ops::Inverse;

struct View {
  size_t input = 0;  // of the node: the tensor that its results show
  Inverse inverse = Inverse::none;
  std::string_view scatter{};
};

// Either a view, or unclear, or results of their own.
struct Aliasing {
  std::optional<View> view{};
  // Shapes or strides decide, and the file does not tell them.
  bool is_unclear = false;
};
// `op` is that of the node's target, which is no higher-order operator. Results that the node
// writes to count as its own. Linear in the node.
Aliasing aliasing_of(const Graph& graph, const Node& node, const ops::Operator& op);

// A node without results that gives `whole` with `part` in place of what result number `item` of
// `node` shows; nothing where no operator does.
std::optional<Node> write_back(const Graph& graph, const Node& node, const View& view, size_t item,
                               ValueId whole, ValueId part);

// A node without results that gives what result number `item` of `node` would be of `whole`;
// nothing where that takes more than one of its results.
std::optional<Node> view_again(const Graph& graph, const Node& node, const View& view, size_t item,
                               ValueId whole);

}  // namespace pt2

#endif  // PT2_LOWER_FUNCTIONAL_VIEWS_H
