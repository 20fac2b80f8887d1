// The strings of a JSON text and their places, read without a grammar. Also reads texts that
// libpt2's reader refuses and Python's accepts, such as repeated members or numbers as texts.
#ifndef PT2_INSPECT_JSON_TEXTS_H
#define PT2_INSPECT_JSON_TEXTS_H

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace pt2 {

// A member of an object, or a place in an array.
struct JsonStep {
  bool in_array = false;
  size_t index = 0;
  std::string key{};
  // The number of steps to the last member of an object, this step included. A file can nest
  // thousands of arrays around each of its texts.
  size_t to_member = 0;
};
// ".nodes[3].target"; the end of a very long path is "…".
std::string path_text(std::span<const JsonStep> path);

struct JsonText {
  std::span<const JsonStep> path;  // for a key: the path of the object that contains it
  std::string_view text;
  bool is_key = false;
};
// Visits strings in text order, up to a nesting deeper than Python's reader allows.
void for_each_json_text(std::string_view json, const std::function<void(const JsonText&)>& visit);

}  // namespace pt2

#endif  // PT2_INSPECT_JSON_TEXTS_H
