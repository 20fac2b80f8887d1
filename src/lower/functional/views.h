// Which results of a node share memory with its arguments, and how a write through such a view is
// repeated on its base (aten/src/ATen/FunctionalInverses.cpp).
#ifndef PT2_LOWER_FUNCTIONAL_VIEWS_H
#define PT2_LOWER_FUNCTIONAL_VIEWS_H

#include <cstdint>
#include <optional>
#include <string_view>

#include "ops/table.h"
#include "pt2/ir/graph.h"

namespace pt2 {

using ops::Inverse;

struct View {
  size_t input = 0;  // the node's input that its results view
  Inverse inverse = Inverse::none;
  std::string_view scatter{};
};

// The results are views, unclear, or own their memory.
struct Aliasing {
  std::optional<View> view{};
  // Depends on shapes or strides that the file does not record.
  bool is_unclear = false;
};
// `op` is the operator of the node's target; higher-order operators are excluded. A result that the
// node writes to counts as owning its memory. Linear in the node.
Aliasing aliasing_of(const Graph& graph, const Node& node, const ops::Operator& op);

// A node, its results still missing, that computes `whole` with the elements that result number
// `item` of `node` views replaced by `part`. Nothing where no operator does that.
std::optional<Node> write_back(const Graph& graph, const Node& node, const View& view, size_t item,
                               ValueId whole, ValueId part);

// A node, its results still missing, that applies the view of result number `item` of `node` to
// `whole`. Nothing where that takes more than one result.
std::optional<Node> view_again(const Graph& graph, const Node& node, const View& view, size_t item,
                               ValueId whole);

}  // namespace pt2

#endif  // PT2_LOWER_FUNCTIONAL_VIEWS_H
