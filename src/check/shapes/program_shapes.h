// Compares the recorded dtypes, sizes and numbers of a whole program with the shape rules of its
// operators.
#ifndef PT2_CHECK_SHAPES_PROGRAM_SHAPES_H
#define PT2_CHECK_SHAPES_PROGRAM_SHAPES_H

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "check/shapes/shape_check.h"
#include "ir/graph_place.h"
#include "pt2/ir/program.h"

namespace pt2::check {

class ProgramShapes {
 public:
  // Tells which records of a graph's calls can be checked. The last region in this list wins if a
  // graph is in several.
  enum class Region : uint8_t {
    plain,             // dtypes and sizes
    casts,             // under autocast: sizes, but not dtypes of calls whose operands may be cast
    hides_dimensions,  // under vmap: nothing
  };
  struct Entry {
    ShapeCheck check;
    size_t graph;     // index in the list of graphs
    size_t position;  // of the node in it
    bool always;      // false inside a branch of a cond, which a run may skip
    Region region;
  };

  // `graphs` are the program's; both must outlive the object.
  ProgramShapes(const Program& program, std::span<const PlacedGraph> graphs);

  // Adds a node whose arguments fit the signature of `op`, which must outlive the object. Skips
  // nodes under vmap. If autocast may cast a node's operands, only wrong sizes are reported.
  void add(size_t graph, size_t position, const Node& node, const ops::Operator& op);

  std::deque<Entry>& entries() { return entries_; }
  // The values of the symbols in the exported example.
  const SymbolBindings& hints() const { return hints_; }
  // Up to `count` assignments other than the hints (admissible_bindings).
  std::vector<SymbolBindings> assignments(size_t count);

  struct Fault {
    const Entry* entry = nullptr;
    ShapeFault fault;
  };
  // Returns the faults that appear under the hints, or under every one of `count` other
  // assignments. Linear in the nodes.
  std::vector<Fault> find_faults(size_t count);

 private:
  const Program& program_;
  const std::span<const PlacedGraph> graphs_;
  const SymbolBindings hints_;
  std::vector<Region> regions_;  // per graph
  std::vector<bool> always_;     // per graph
  std::deque<Entry> entries_;
};

}  // namespace pt2::check

#endif  // PT2_CHECK_SHAPES_PROGRAM_SHAPES_H
