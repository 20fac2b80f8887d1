// Finds out which document a JSON text is, by its outermost keys. Nothing is checked; decoding
// reports errors.
#ifndef PT2_BASE_JSON_KEYS_H
#define PT2_BASE_JSON_KEYS_H

#include <functional>
#include <string_view>

namespace pt2 {

// Calls `visit` with each key of the outermost object, as spelled between its quotes, until it
// returns false. Linear in the text up to there.
void for_each_outermost_key(std::string_view json,
                            const std::function<bool(std::string_view)>& visit);
bool has_outermost_key(std::string_view json, std::string_view key);
// Returns the position of the last quote of the string whose first quote is at `begin`, or the
// text's end.
size_t json_string_end(std::string_view text, size_t begin);

enum class DocumentKind : uint8_t {
  program,    // schema::ExportedProgram
  container,  // schema::Model
  methods,    // schema::Program
  draft,      // draft::GraphModule
  unknown,
};
DocumentKind document_kind(std::string_view json);

}  // namespace pt2

#endif  // PT2_BASE_JSON_KEYS_H
