// Reads and changes arguments of nodes; pt2/ir/builder.h creates them.
#ifndef PT2_LOWER_ARGUMENTS_H
#define PT2_LOWER_ARGUMENTS_H

#include <optional>
#include <string_view>

#include "ir/walk.h"
#include "pt2/ir/graph.h"
#include "pt2/value.h"

namespace pt2 {

// Returns the integer that the node gives, or `otherwise` if the argument is omitted. Nothing if
// the argument is not an integer literal.
std::optional<int64_t> literal(const Node& node, std::string_view name,
                               std::optional<int64_t> otherwise);

// Returns the device of an argument that is one, or its name as text, as
// torch.export.passes.move_to_device_pass writes it. Nothing for other arguments.
std::optional<Device> device_argument(const Argument& argument);

// Returns the argument with this name if it is a T; else null.
template <class T>
const T* find_argument(const Node& node, std::string_view name) {
  const Argument* argument = node.find_input(name);
  return argument != nullptr ? argument->get_if<T>() : nullptr;
}

// Calls `visit(Argument, Value)` for corresponding parts of both.
template <class A, class V, class Visit>
void for_each_pair(A& argument, V& value, const Visit& visit) {
  const auto* list = argument.template get_if<ArgumentList>();
  auto* items = value.template get_if<Value::List>();
  if (list != nullptr && items != nullptr && list->items.size() == items->size()) {
    for (size_t i = 0; i < items->size(); ++i) for_each_pair(list->items[i], (*items)[i], visit);
  } else {
    visit(argument, value);
  }
}

// Replaces every value of the arguments by `change(ValueId)`, which returns a value or an argument.
template <class Change>
void change_values(Argument& argument, const Change& change) {
  for_each_leaf(argument, [&](Argument& leaf) {
    if (const auto* id = leaf.get_if<ValueId>()) leaf = Argument(change(*id));
  });
}
template <class Change>
void change_values(std::vector<NamedArgument>& inputs, const Change& change) {
  for (NamedArgument& input : inputs) change_values(input.arg, change);
}
template <class Change>
void change_values(std::vector<Argument>& arguments, const Change& change) {
  for (Argument& argument : arguments) change_values(argument, change);
}

}  // namespace pt2

#endif  // PT2_LOWER_ARGUMENTS_H
