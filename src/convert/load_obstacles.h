// Why releases cannot load a file as it is, of programs of any length.
#ifndef PT2_CONVERT_LOAD_OBSTACLES_H
#define PT2_CONVERT_LOAD_OBSTACLES_H

#include "pt2/conversion.h"

namespace pt2 {

// As load_obstacles of pt2/conversion.h, with the programs' text in pieces of another size.
Result<std::vector<LoadObstacles>> load_obstacles(const Package& package, size_t piece_bytes);

}  // namespace pt2

#endif  // PT2_CONVERT_LOAD_OBSTACLES_H
