// The module hierarchy of the Python program that a graph was traced from: the nodes, parameters
// and calls of each module. torch.export.unflatten builds the same hierarchy; here it is a table
// over the flat graph.
#ifndef PT2_IR_MODULES_H
#define PT2_IR_MODULES_H

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/ir/program.h"

namespace pt2 {

// Consecutive nodes of the top graph: positions [begin, end) of Graph::nodes().
struct NodeRun {
  NodeId first{};
  size_t begin = 0;
  size_t end = 0;
};

// One call of a module. Its runs include the nodes of the modules that it called. There are several
// runs if other nodes were moved in between, and none if all nodes were removed.
struct ModuleCall {
  size_t number = 0;  // from 0, as numbered in the file
  std::vector<NodeRun> runs{};
  // The index of its entry in Program::module_call_graph, if that has a signature.
  std::optional<size_t> entry{};
};

struct Module {
  std::string name{};  // the last part of its FQN; empty for the root
  std::string type{};  // class, "torch.nn.modules.linear.Linear"; empty if unknown
  size_t parent = 0;   // indices of ModuleHierarchy::modules; the root is its own parent
  std::vector<size_t> children{};
  std::vector<ModuleCall> calls{};  // in the order of their first node
  // The number of nodes traced inside it or inside modules that it called. In the hierarchy of the
  // top graph it includes nodes of nested graphs.
  size_t nodes = 0;
  // Indices of GraphSignature::input_specs: its own parameters, buffers, constants and custom
  // objects.
  std::vector<size_t> inputs{};
};

struct ModuleHierarchy {
  std::vector<Module> modules;  // the root first, parents before their children

  // Returns the FQN, "encoder.layers.0". Empty for the root.
  std::string fqn(size_t module) const;
  // Returns the FQN, followed by "@1", "@2", ... for calls after the first, as in
  // module_call_graph.
  std::string call_name(size_t module, const ModuleCall& call) const;
  // Returns the module with this FQN; nothing if there is none. Linear in the children along the
  // path.
  std::optional<size_t> find(std::string_view fqn) const;
};

// Builds the hierarchy from the nn_module_stack of nodes, the module_call_graph and the targets of
// the signature. Missing or damaged parts of these are skipped. A node without a stack belongs to
// the call of its surrounding nodes (torch/export/unflatten.py, _ModuleFrame.run_from), in 2.1 to
// the root. Files up to 2.5 do not number calls: there each uninterrupted run of nodes counts as
// one call. Linear in the program.
ModuleHierarchy module_hierarchy(const Program& program);
// As above, for the nodes of one graph of the program. For a nested graph it has only the modules
// that these nodes name.
ModuleHierarchy module_hierarchy(const Program& program, const Graph& graph);

}  // namespace pt2

#endif  // PT2_IR_MODULES_H
