// Whether transformations may rely on the sizes that a program records.
#ifndef PT2_CHECK_SHAPES_RECORDED_SIZES_H
#define PT2_CHECK_SHAPES_RECORDED_SIZES_H

#include "pt2/ir/program.h"

namespace pt2::check {

// False if, in the exported example, an operator gives other results, kinds, sizes or dtypes than
// the program records, or a nested graph records other sizes than its caller. False for constant
// sizes of a result that depends on data. True where nothing else is known, and for calls that
// operators refuse. Linear.
bool recorded_sizes_hold(const Program& program);

}  // namespace pt2::check

#endif  // PT2_CHECK_SHAPES_RECORDED_SIZES_H
