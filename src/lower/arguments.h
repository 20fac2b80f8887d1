// Arguments of nodes that rewritings read, change and make.
#ifndef PT2_LOWER_ARGUMENTS_H
#define PT2_LOWER_ARGUMENTS_H

#include <span>
#include <string>
#include <vector>

#include "pt2/graph.h"

namespace pt2 {

NamedArgument positional(std::string name, Argument argument);
NamedArgument keyword(std::string name, Argument argument);
Argument int_list(std::span<const int64_t> numbers);
Argument tensor_list(const std::vector<ValueId>& values);

// Of an argument that is a tensor; null for others.
inline const TensorMeta* tensor_meta(const Graph& graph, const Argument& argument) {
  const auto* id = argument.get_if<ValueId>();
  return id != nullptr ? graph.value(*id).tensor() : nullptr;
}

// Applies `visit(Argument&)` to the argument, or to all that its lists and maps hold: they are as
// deep as the reader lets them be.
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

#endif  // PT2_LOWER_ARGUMENTS_H
