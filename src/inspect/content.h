// What a program computes as one number: equal for programs that differ in names, in the order of
// independent nodes, in where they come from and in the spelling of a release.
#ifndef PT2_INSPECT_CONTENT_H
#define PT2_INSPECT_CONTENT_H

#include <cstdint>
#include <string>
#include <vector>

#include "pt2/ir/program.h"

namespace pt2 {

struct GraphContent {
  // By node id: target, constants, and what its values are made of.
  std::vector<uint64_t> nodes;
  std::string digest;  // of all nodes and the outputs
};

// What the inputs are called decides what they are: "input 0", "parameter fc.weight".
GraphContent graph_content(const Graph& graph, const std::vector<std::string>& inputs);
// One name for each input of the program's graph, for graph_content.
std::vector<std::string> input_roles(const Program& program);

}  // namespace pt2

#endif  // PT2_INSPECT_CONTENT_H
