// Reasons why releases cannot load a file as it is, for programs of any length.
#ifndef PT2_CONVERT_LOAD_OBSTACLES_H
#define PT2_CONVERT_LOAD_OBSTACLES_H

#include "pt2/conversion.h"

namespace pt2 {

// Like load_obstacles in pt2/conversion.h, but reads the programs' text in pieces of `piece_bytes`.
Result<std::vector<LoadObstacles>> load_obstacles(const Package& package, size_t piece_bytes);

}  // namespace pt2

#endif  // PT2_CONVERT_LOAD_OBSTACLES_H
