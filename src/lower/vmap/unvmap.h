// Regions of torch.vmap, which only newer releases and few engines know: what a region does for
// each element of a batch becomes nodes for each element; of too many elements, or of a number that
// is known only when the program runs, a call for each.
#pragma once

#include "lower/pass.h"
#include "pt2/program.h"

namespace pt2 {

// A failure for each region that stays, at the node that opens it. Expressions that are new get
// that spelling.
PassResult unvmap(Program& program, ExprSpelling spelling);

}  // namespace pt2
