// Visits the parts of an argument.
#ifndef PT2_IR_LEAVES_H
#define PT2_IR_LEAVES_H

#include "pt2/ir/argument.h"

namespace pt2 {

// Calls `visit(Argument&)` for the argument, or for every item of its lists and maps. The reader
// bounds their depth.
template <class Visit>
void for_each_leaf(Argument& argument, const Visit& visit) {
  if (auto* list = argument.get_if<ArgumentList>()) {
    for (Argument& item : list->items) for_each_leaf(item, visit);
  } else if (auto* map = argument.get_if<ArgumentMap>()) {
    for (auto& [key, item] : map->items) for_each_leaf(item, visit);
  } else {
    visit(argument);
  }
}

}  // namespace pt2

#endif  // PT2_IR_LEAVES_H
