#include "schema/path.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace pt2::schema {
namespace {

bool is_identifier(std::string_view text) {
  auto is_word = [](unsigned char c) { return c < 0x80 && (std::isalnum(c) != 0 || c == '_'); };
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), is_word);
}

void append_steps(std::string& path, const Step& step, const Step* base) {
  if (!step.parent || &step == base) return;
  append_steps(path, *step.parent, base);
  if (step.key.data()) {
    append_key_step(path, step.key);
  } else {
    append_index_step(path, step.index);
  }
}

}  // namespace

void append_key_step(std::string& path, std::string_view key) {
  if (is_identifier(key)) {
    path += '.';
    path += key;
    return;
  }
  path += '[';
  append_json_string(path, key);
  path += ']';
}

void append_index_step(std::string& path, size_t index) {
  path += '[';
  append_int(path, static_cast<int64_t>(index));
  path += ']';
}

std::string print_path(const Step& step, const Step* base) {
  std::string path;
  append_steps(path, step, base);
  return path;
}

}  // namespace pt2::schema
