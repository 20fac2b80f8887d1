#include "run/named_inputs.h"

#include <fmt/format.h>

#include <charconv>

#include "base/printable.h"
#include "ir/values/constant_value.h"

namespace pt2::run {
namespace {

// Finds the tree node called `name` at or below `spec`, whose own name is `path`. Adds the number
// of leaves before that node to `first`.
const TreeSpec* find_node(const TreeSpec& spec, const std::string& path, std::string_view name,
                          size_t& first) {
  if (path == name) return &spec;
  if (!name.starts_with(path)) return nullptr;
  const size_t start = first;
  for (size_t i = 0; i < spec.children.size(); ++i) {
    const TreeSpec& child = spec.children[i];
    if (const TreeSpec* found = find_node(child, path + child_path(spec, i), name, first))
      return found;
    first += leaf_count(child);
  }
  first = start;
  return nullptr;
}

std::optional<size_t> parse_position(std::string_view name, size_t count) {
  size_t index = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), index);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == name.data() + name.size();
  return whole && index < count ? std::optional(index) : std::nullopt;
}

}  // namespace

NamedInputs::NamedInputs(const CallingConvention& convention)
    : convention_(convention), values_(convention.inputs.size()) {}

std::optional<NamedInputs::Place> NamedInputs::find(std::string_view name) const {
  size_t first = 0;
  for (const CallArgument& argument : convention_.arguments) {
    size_t leaf = first;
    if (const TreeSpec* spec = find_node(argument.spec, argument.name, name, leaf))
      return Place{spec, leaf};
    first += leaf_count(argument.spec);
  }
  if (const auto position = parse_position(name, values_.size())) return Place{nullptr, *position};
  return std::nullopt;
}

Result<void> NamedInputs::add(std::string_view name, const Tree& tree) {
  const std::optional<Place> place = find(name);
  if (!place) return refuse(fmt::format("there is no input '{}'", printable(name)));
  auto leaves = flatten(tree, place->spec ? *place->spec : TreeSpec(), name);
  if (!leaves) return refuse("input " + leaves.error().message);
  for (size_t i = 0; i < leaves->size(); ++i) {
    std::optional<Value>& value = values_[place->first + i];
    if (value)
      return refuse(fmt::format("input '{}' is given twice",
                                printable(convention_.inputs[place->first + i].name)));
    value = std::move((*leaves)[i]);
  }
  return {};
}

Result<std::vector<Value>> NamedInputs::finish() {
  std::vector<Value> out;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (!values_[i]) values_[i] = convention_.constants[i];
    if (!values_[i])
      return refuse(fmt::format("input '{}' is missing", printable(convention_.inputs[i].name)));
    out.push_back(*std::move(values_[i]));
  }
  return out;
}

Error NamedInputs::refuse(std::string text) const {
  text += convention_.inputs.empty() ? "; the program takes no inputs" : "; the program takes:";
  for (const ModelValue& input : convention_.inputs)
    text += fmt::format("\n  {}: {}", printable(input.name), printable(input.type));
  return {ErrorCode::argument, std::move(text), ""};
}

}  // namespace pt2::run
