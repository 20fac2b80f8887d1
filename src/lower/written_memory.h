// Determines which values of a graph may lie in memory that is written to.
#ifndef PT2_LOWER_WRITTEN_MEMORY_H
#define PT2_LOWER_WRITTEN_MEMORY_H

#include <vector>

#include "pt2/ir/graph.h"

namespace pt2 {

class WrittenMemory {
 public:
  // `inputs_are_written` is set for a nested graph, whose caller may write to the inputs' memory.
  // Linear.
  WrittenMemory(const Graph& graph, bool inputs_are_written);

  // `value` must have existed when this was constructed.
  bool may_hold(ValueId value) const { return written_[static_cast<size_t>(value)]; }

 private:
  std::vector<bool> written_;
};

// True if a node of the graph, or of a graph nested in it, writes to a tensor.
bool writes(const Graph& graph);
// True if an operator of the graph, or of a graph nested in it, depends on the strides of its
// arguments, not only on their elements.
bool looks_at_strides(const Graph& graph);
// Returns the values whose memory the node itself may write to.
std::vector<ValueId> written_values(const Graph& graph, const Node& node);
// Returns a class for each value, indexed by its id. Values of different classes share no memory.
// The recorded kinds are trusted: numbers share no memory. Linear.
std::vector<uint32_t> memory_classes(const Graph& graph);
// True if a result of the node may share memory with an argument.
bool may_share_memory(const Node& node);

}  // namespace pt2

#endif  // PT2_LOWER_WRITTEN_MEMORY_H
