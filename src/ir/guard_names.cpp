#include "ir/guard_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "ir/symbols/symbols_internal.h"
#include "pt2/ir/guards.h"
#include "pt2/ir/pytree.h"

namespace pt2 {
namespace {

constexpr std::string_view kFlatArgs = "flat_args[";

std::optional<size_t> flat_position(std::string_view input) {
  if (!input.starts_with(kFlatArgs) || !input.ends_with(']')) return std::nullopt;
  input = input.substr(kFlatArgs.size(), input.size() - kFlatArgs.size() - 1);
  size_t position = 0;
  const char* end = input.data() + input.size();
  const auto [last, error] = std::from_chars(input.data(), end, position);
  return error == std::errc() && last == end ? std::optional(position) : std::nullopt;
}

// Returns the program's name for an element of *args: "args_0" for the guard's "args[0]".
std::string variadic_name(const std::string& input) {
  const size_t open = input.find('[');
  const size_t close = input.find(']', open);
  if (close == std::string::npos) return input;
  return input.substr(0, open) + "_" + input.substr(open + 1, close - open - 1) +
         input.substr(close + 1);
}

// Imitates torch.utils._pytree.keystr.
std::string key_step(const TreeSpec& spec, size_t child) {
  if (child >= spec.keys.size()) return fmt::format("[{}]", child);
  const TreeKey& key = spec.keys[child];
  if (!is_dict_kind(spec.kind)) return "." + key.text;
  return fmt::format("[{}]", key.is_text ? print_python_string(key.text) : key.text);
}

// Collects the texts of the leaves. Below an empty path all texts are empty, and so they are below
// a path longer than any that guards may name: each leaf would repeat it.
void collect(const TreeSpec& spec, const std::string& path, std::vector<std::string>& paths) {
  if (spec.is_leaf()) paths.push_back(path);
  const bool is_sure =
      !path.empty() && path.size() <= kMaxSourceBytes && spec.kind != TreeKind::registered;
  for (size_t i = 0; i < spec.children.size(); ++i)
    collect(spec.children[i], is_sure ? path + key_step(spec, i) : "", paths);
}

}  // namespace

GuardNames::GuardNames(std::span<const std::string> names) : count_(names.size()) {
  for (size_t i = 0; i < names.size(); ++i) places_.emplace(names[i], i);
}

std::optional<size_t> GuardNames::place_of(std::string_view name) const {
  const auto place = places_.find(name);
  return place == places_.end() ? std::nullopt : std::optional(place->second);
}

std::optional<GuardNames::Found> GuardNames::find(const std::string& input) const {
  if (const auto position = flat_position(input))
    return *position < count_ ? std::optional(Found{*position}) : std::nullopt;
  for (const std::string& name : {input, variadic_name(input)})
    if (const auto place = place_of(name)) return Found{*place};
  const size_t dot = input.find_first_of(".[");
  if (dot == input.npos || input[dot] != '.') return std::nullopt;
  const auto place = place_of(std::string_view(input).substr(dot + 1));
  return place ? std::optional(Found{*place, true}) : std::nullopt;
}

bool GuardNames::is_inside(const GuardSource& source) const {
  const std::string& input = source.input;
  for (size_t dot = input.rfind('.'); dot != input.npos && dot > 0; dot = input.rfind('.', dot - 1))
    if (find(input.substr(0, dot))) return true;
  return false;
}

std::vector<std::string> guard_paths(const Program& program) {
  std::vector<std::string> paths;
  for (const CallArgument& argument : call_arguments(program))
    collect(argument.spec, fmt::format("L[{}]", print_python_string(argument.name)), paths);
  return paths;
}

}  // namespace pt2
