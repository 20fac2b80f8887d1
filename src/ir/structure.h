// Checks the basic rule of a graph: every value is defined once, before it is used.
#ifndef PT2_IR_STRUCTURE_H
#define PT2_IR_STRUCTURE_H

#include "pt2/diagnostics.h"
#include "pt2/ir/program.h"

namespace pt2 {

// Adds V500, V501 and V502 for the program's graph and its nested graphs. A finding's `where` is
// the place in the JSON, ".graph_module.graph.nodes[3].inputs[0].arg". Linear in the size of the
// program.
void check_structure(const Program& program, Diagnostics& findings);

}  // namespace pt2

#endif  // PT2_IR_STRUCTURE_H
