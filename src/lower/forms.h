// The predicates of forms.def on one graph, nested graphs excluded. Each is defined beside the pass
// that establishes the form.
#ifndef PT2_LOWER_FORMS_H
#define PT2_LOWER_FORMS_H

#include "pt2/ir/graph.h"

namespace pt2 {

bool only_computes(const Graph& graph);
bool has_no_vmap_region(const Graph& graph);
bool has_no_autocast(const Graph& graph);
bool has_no_gradient_region(const Graph& graph);
bool has_no_writing_region(const Graph& graph);
bool has_no_idle_node(const Graph& graph);
bool has_no_time_steps(const Graph& graph);
bool has_no_composites(const Graph& graph);
bool makes_no_dual_numbers(const Graph& graph);

}  // namespace pt2

#endif  // PT2_LOWER_FORMS_H
