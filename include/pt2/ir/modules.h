// The modules of the Python program that a graph was traced from, with the nodes, parameters and
// calls of each: the hierarchy that torch.export.unflatten builds, as a table over the flat graph.
#ifndef PT2_IR_MODULES_H
#define PT2_IR_MODULES_H

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/ir/program.h"

namespace pt2 {

// Nodes of the top graph that follow one another: positions [begin, end) of Graph::nodes().
struct NodeRun {
  NodeId first{};
  size_t begin = 0;
  size_t end = 0;
};

// One time that a module ran. Its runs hold the nodes of the modules that it called, too; there are
// several where other nodes were moved in between, and none where no node was left.
struct ModuleCall {
  size_t number = 0;  // counted from 0, as the file numbers it
  std::vector<NodeRun> runs{};
  // Index of its entry of Program::module_call_graph, where that has a signature.
  std::optional<size_t> entry{};
};

struct Module {
  std::string name{};  // the last part of its FQN; empty for the root
  std::string type{};  // class, "torch.nn.modules.linear.Linear"; empty where the file does not say
  size_t parent = 0;   // indices of ModuleHierarchy::modules; the root is its own parent
  std::vector<size_t> children{};
  std::vector<ModuleCall> calls{};  // in the order of their first node
  // Nodes that were traced inside it or inside modules that it called, those of nested graphs
  // included.
  size_t nodes = 0;
  // Indices of GraphSignature::input_specs: parameters, buffers, constants and custom objects that
  // are its own attributes.
  std::vector<size_t> inputs{};
};

struct ModuleHierarchy {
  std::vector<Module> modules;  // the root first, parents before their children

  // "encoder.layers.0"; empty for the root.
  std::string fqn(size_t module) const;
  // fqn, and "@1", "@2", ... for calls after the first: as module_call_graph names them.
  std::string call_name(size_t module, const ModuleCall& call) const;
  // Nothing when there is none. Linear in the children along the way.
  std::optional<size_t> find(std::string_view fqn) const;
};

// From the nn_module_stack of nodes, the module_call_graph and the targets of the signature; what
// of these is missing or damaged is left out. Nodes without a stack belong to the call that they
// stand in (torch/export/unflatten.py, _ModuleFrame.run_from), in 2.1 to the root. Until 2.5 files
// do not number calls: each uninterrupted run of nodes is one. Linear in the program.
ModuleHierarchy module_hierarchy(const Program& program);
// Of the nodes of one graph of the program: of one nested in it, the modules that these nodes name
// and no others.
ModuleHierarchy module_hierarchy(const Program& program, const Graph& graph);

}  // namespace pt2

#endif  // PT2_IR_MODULES_H
