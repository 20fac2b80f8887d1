#include "base/json_keys.h"

namespace pt2 {
namespace {

// Returns the index of the quote that ends the string whose first quote is at `at`; npos if there
// is none.
size_t end_of_string(std::string_view json, size_t at) {
  for (size_t i = at + 1; i < json.size(); ++i) {
    if (json[i] == '\\')
      ++i;
    else if (json[i] == '"')
      return i;
  }
  return json.npos;
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

}  // namespace

void for_each_outermost_key(std::string_view json,
                            const std::function<bool(std::string_view)>& visit) {
  size_t depth = 0;
  bool expects_key = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') {
      const size_t end = end_of_string(json, i);
      if (end == json.npos) return;
      if (expects_key && !visit(json.substr(i + 1, end - i - 1))) return;
      expects_key = false;
      i = end;
    } else if (c == '{' || c == '[') {
      if (depth == 0 && c == '[') return;
      expects_key = ++depth == 1;
    } else if (c == '}' || c == ']') {
      if (depth <= 1) return;
      --depth;
    } else if (c == ',') {
      expects_key = depth == 1;
    } else if (depth == 0 && !is_blank(c)) {
      return;
    }
  }
}

bool has_outermost_key(std::string_view json, std::string_view key) {
  bool found = false;
  for_each_outermost_key(json, [&](std::string_view each) {
    found = each == key;
    return !found;
  });
  return found;
}

DocumentKind document_kind(std::string_view json) {
  bool has_name = false, has_program = false, has_graph = false, has_graph_module = false;
  for_each_outermost_key(json, [&](std::string_view key) {
    has_name |= key == "name";
    has_program |= key == "program";
    has_graph |= key == "graph";
    has_graph_module = key == "graph_module";
    return !has_graph_module;
  });
  if (has_graph_module) return DocumentKind::program;
  if (has_name && has_program) return DocumentKind::container;
  if (has_name && has_graph) return DocumentKind::draft;
  return DocumentKind::unknown;
}

}  // namespace pt2
