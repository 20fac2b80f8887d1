// Names that people type wrong.
#ifndef PT2_TOOLS_NAMES_H
#define PT2_TOOLS_NAMES_H

#include <string>
#include <string_view>

namespace pt2::tools {

// Levenshtein's distance: how many letters to add, drop or change.
size_t distance(std::string_view a, std::string_view b);

// The nearest of `names` (each projected to text), or "" when none is near; of those equally near,
// one that begins as typed.
template <class Names, class Text>
std::string nearest_name(std::string_view typed, const Names& names, Text&& text) {
  std::string best;
  size_t least = std::max<size_t>(2, typed.size() / 3) + 1;
  for (const auto& each : names) {
    const std::string_view name = text(each);
    const size_t steps = distance(typed, name);
    const bool is_better_start =
        steps == least && !best.empty() && name.starts_with(typed) && !best.starts_with(typed);
    if (steps >= least && !is_better_start) continue;
    least = steps;
    best = name;
  }
  return best;
}

// "; did you mean 'run'?", to follow what was typed; "" for no name.
std::string did_you_mean(std::string_view name);

// Whether all of `name` is what `pattern` says, where * is any text and ? any character. Takes
// name.size() * pattern.size() steps at most.
bool matches(std::string_view name, std::string_view pattern);

// The verb that does what another tool's word, or a longer one, asks for; "" when there is none.
std::string_view verb_that_means(std::string_view word);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_NAMES_H
