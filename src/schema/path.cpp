#include "schema/path.h"

#include "base/text.h"

namespace pt2::schema {
namespace {

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
  if (is_word(key)) {
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
