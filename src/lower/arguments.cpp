#include "lower/arguments.h"

#include "ops/bind.h"

namespace pt2 {

NamedArgument positional(std::string name, Argument argument) {
  return {.name = std::move(name), .arg = std::move(argument), .kind = ArgumentKind::positional};
}

NamedArgument keyword(std::string name, Argument argument) {
  return {.name = std::move(name), .arg = std::move(argument), .kind = ArgumentKind::keyword};
}

std::optional<int64_t> literal(const Node& node, std::string_view name,
                               std::optional<int64_t> otherwise) {
  const Argument* argument = node.find_input(name);
  if (argument == nullptr) return otherwise;
  const auto* number = argument->get_if<int64_t>();
  return number != nullptr ? std::optional(*number) : std::nullopt;
}

Argument int_list(std::span<const int64_t> numbers) {
  ArgumentList list{.kind = ListKind::ints};
  for (const int64_t number : numbers) list.items.emplace_back(number);
  return Argument(std::move(list));
}

Argument tensor_list(const std::vector<ValueId>& values) {
  ArgumentList list{.kind = ListKind::tensors};
  for (const ValueId value : values) list.items.emplace_back(value);
  return Argument(std::move(list));
}

std::optional<Device> device_argument(const Argument& argument) {
  if (const auto* device = argument.get_if<Device>()) return *device;
  const auto* text = argument.get_if<std::string>();
  return text != nullptr ? ops::find_device(*text) : std::nullopt;
}

}  // namespace pt2
