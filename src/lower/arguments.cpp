#include "lower/arguments.h"

#include "ops/bind.h"

namespace pt2 {

std::optional<int64_t> literal(const Node& node, std::string_view name,
                               std::optional<int64_t> otherwise) {
  const Argument* argument = node.find_input(name);
  if (argument == nullptr) return otherwise;
  const auto* number = argument->get_if<int64_t>();
  return number != nullptr ? std::optional(*number) : std::nullopt;
}

std::optional<Device> device_argument(const Argument& argument) {
  if (const auto* device = argument.get_if<Device>()) return *device;
  const auto* text = argument.get_if<std::string>();
  return text != nullptr ? ops::find_device(*text) : std::nullopt;
}

}  // namespace pt2
