// Counts the multiply-adds of calls: matrix products, convolutions, attention, recurrent layers.
#ifndef PT2_INSPECT_PRODUCTS_H
#define PT2_INSPECT_PRODUCTS_H

#include <cstdint>

#include "pt2/ir/graph.h"

namespace pt2 {

// Counts the nodes of one program. A symbolic size counts as its value at export, or else as 1.
class ProductCounter {
 public:
  // Returns the multiply-adds of a node, which saturate at 2^64 - 1. For an operator that is
  // composed of others (einsum, lstm_cell), those of the calls in its formula.
  uint64_t count(const Graph& graph, const Node& node);

 private:
  // How many calls formulas may still make. It grows with the nodes, so the work is linear.
  uint64_t calls_left_ = 4096;
};

}  // namespace pt2

#endif  // PT2_INSPECT_PRODUCTS_H
