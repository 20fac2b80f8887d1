// Determines which results of a node share memory with its arguments, and how a write through such
// a view is repeated on its base (aten/src/ATen/FunctionalInverses.cpp).
#ifndef PT2_LOWER_FUNCTIONAL_VIEWS_H
#define PT2_LOWER_FUNCTIONAL_VIEWS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/table.h"
#include "pt2/ir/graph.h"

namespace pt2 {

using ops::Inverse;

struct View {
  size_t input = 0;  // the node's input that the results are views of
  Inverse inverse = Inverse::none;
  std::string_view scatter{};
};

// The results of a node are views (`view`), may be views (`is_unclear`), or own their memory.
struct Aliasing {
  std::optional<View> view{};
  // The answer depends on shapes or strides that the file does not record.
  bool is_unclear = false;
};
// `op` is the operator of the node's target; higher-order operators are not allowed. A result that
// is the written argument of an in-place operator counts as owning its memory. Linear in the node.
Aliasing aliasing_of(const Graph& graph, const Node& node, const ops::Operator& op);
// Returns the view that the result of a clone(), or of a conversion to the dtype that the argument
// has, would be if it were no copy. Nothing (nullopt) for other nodes, and for copies that are made
// for another memory format. `op` as above.
std::optional<View> copied_view(const Graph& graph, const Node& node, const ops::Operator& op);

// Returns a node, still without results, that computes `whole` with some elements replaced by
// `part`: the elements that result number `item` of `node` views. Nothing (nullopt) if no operator
// does that.
std::optional<Node> write_back(const Graph& graph, const Node& node, const View& view, size_t item,
                               ValueId whole, ValueId part);

// Returns a node, still without results, that applies the view of result number `item` of `node` to
// `whole`. Nothing (nullopt) if the view needs a node with several results.
std::optional<Node> view_again(const Graph& graph, const Node& node, const View& view, size_t item,
                               ValueId whole);

// Returns the operator that gives the elements of a view even if the strides of its operand allow
// no view, and renames the arguments for it; nothing if the target is not such a view. A value
// after a write may lie otherwise than the memory that was written to: scatter gives a contiguous
// tensor.
std::optional<std::string> copying_form(std::string_view target,
                                        std::vector<NamedArgument>& inputs);

}  // namespace pt2

#endif  // PT2_LOWER_FUNCTIONAL_VIEWS_H
