// Which values of a graph may lie in memory that something writes to.
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

  // Only for values that the graph had at construction.
  bool may_hold(ValueId value) const { return written_[static_cast<size_t>(value)]; }

 private:
  void find_written(const Graph& graph);

  std::vector<bool> written_;
};

// Whether a node of the graph, or of one nested in it, writes to a tensor.
bool writes(const Graph& graph);
// The values whose memory the node may write to itself.
std::vector<ValueId> written_values(const Graph& graph, const Node& node);
// A number for each value, by its id: values of different numbers share no memory. Linear.
std::vector<uint32_t> memory_classes(const Graph& graph);
// Whether a result of the node may share memory with an argument.
bool may_share_memory(const Node& node);

}  // namespace pt2

#endif  // PT2_LOWER_WRITTEN_MEMORY_H
