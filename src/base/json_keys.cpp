#include "base/json_keys.h"

#include <algorithm>

namespace pt2 {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

}  // namespace

size_t json_string_end(std::string_view text, size_t begin) {
  size_t i = begin + 1;
  for (; i < text.size() && text[i] != '"'; ++i)
    if (text[i] == '\\') ++i;
  return std::min(i, text.size());
}

void for_each_outermost_key(std::string_view json,
                            const std::function<bool(std::string_view)>& visit) {
  size_t depth = 0;
  bool expects_key = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') {
      const size_t end = json_string_end(json, i);
      if (end == json.size()) return;
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
  bool has_methods = false;
  for_each_outermost_key(json, [&](std::string_view key) {
    has_name |= key == "name";
    has_program |= key == "program";
    has_graph |= key == "graph";
    has_methods |= key == "methods";
    has_graph_module = key == "graph_module";
    return !has_graph_module;
  });
  if (has_graph_module) return DocumentKind::program;
  if (has_name && has_program) return DocumentKind::container;
  if (has_name && has_graph) return DocumentKind::draft;
  if (has_methods) return DocumentKind::methods;
  return DocumentKind::unknown;
}

}  // namespace pt2
