// What forms.def asks of a graph, without those nested in it. Each is defined beside the pass that
// gives the form.
#pragma once

#include "pt2/graph.h"

namespace pt2 {

bool only_computes(const Graph& graph);
bool has_no_vmap_region(const Graph& graph);
bool has_no_gradient_region(const Graph& graph);
bool has_no_writing_region(const Graph& graph);
bool makes_no_dual_numbers(const Graph& graph);

}  // namespace pt2
