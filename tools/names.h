// Matching of mistyped names.
#ifndef PT2_TOOLS_NAMES_H
#define PT2_TOOLS_NAMES_H

#include <string>
#include <string_view>

namespace pt2::tools {

// Returns the Levenshtein distance: the number of letters to insert, delete or replace.
size_t distance(std::string_view a, std::string_view b);

// Returns the nearest of `names` (each projected to text), or "" if none is near. Of equally near
// names, prefers one that begins with the typed text.
template <class Names, class Text>
std::string nearest_name(std::string_view typed, const Names& names, Text&& text) {
  std::string best;
  // A name that shares no letter with the typed text is no help.
  size_t least = std::min(std::max<size_t>(2, typed.size() / 3) + 1, typed.size());
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

// Returns "; did you mean 'run'?", to follow the typed word; "" for an empty name.
std::string did_you_mean(std::string_view name);

// True if `pattern` matches the whole `name`; * is any text and ? any character. Takes at most
// name.size() * pattern.size() steps.
bool matches(std::string_view name, std::string_view pattern);

// Returns the verb for another tool's word or a longer word; "" if there is none.
std::string_view verb_that_means(std::string_view word);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_NAMES_H
