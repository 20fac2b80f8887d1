// Programs that break one rule each, and valid ones that almost break a rule: small real files with
// edits of their JSON (tests/data/broken/programs.json).
#ifndef PT2_TESTS_PACKAGE_BROKEN_PROGRAMS_H
#define PT2_TESTS_PACKAGE_BROKEN_PROGRAMS_H

#include <algorithm>
#include <string>
#include <vector>

#include "base/json.h"
#include "pt2/format/archive.h"
#include "read_file.h"

namespace pt2::test {

struct BrokenProgram {
  std::string name;
  std::string rule;  // "V500"; empty if the program breaks no rule
  std::string base;  // a file of tests/data/corpus/2.15.0
  std::vector<JsonValue> edits;
};

inline std::vector<BrokenProgram> broken_programs() {
  std::vector<BrokenProgram> programs;
  const JsonValue list = parse_json(test::read_file(PT2_TEST_DATA "/broken/programs.json")).value();
  for (const JsonValue& item : list.items)
    programs.push_back({item.find("name")->text, item.find("rule")->text, item.find("base")->text,
                        item.find("edits")->items});
  return programs;
}

inline std::string base_file(const std::string& base) {
  return std::string(PT2_TEST_DATA) + "/corpus/2.15.0/" + base + ".pt2";
}

// Replaces every string and every key that equals `from` by `to`.
inline void rename(JsonValue& value, const std::string& from, const std::string& to) {
  if (value.is_string() && value.text == from) value.text = to;
  for (JsonValue& item : value.items) rename(item, from, to);
  for (JsonMember& member : value.members) {
    if (member.key == from) member.key = to;
    rename(member.value, from, to);
  }
}

// Applies ["set", pointer, value], ["insert", pointer to an item, value], ["remove", pointer] or
// ["rename", from, to]. Pointers are those of RFC 6901, without escapes.
inline void apply_edit(JsonValue& root, const JsonValue& edit) {
  const std::string& verb = edit.items[0].text;
  if (verb == "rename") return rename(root, edit.items[1].text, edit.items[2].text);
  std::string pointer = edit.items[1].text.substr(1);
  JsonValue* parent = &root;
  const auto member = [&](const std::string& key) {
    return std::find_if(parent->members.begin(), parent->members.end(),
                        [&](const JsonMember& each) { return each.key == key; });
  };
  for (size_t slash; (slash = pointer.find('/')) != std::string::npos;) {
    const std::string key = pointer.substr(0, slash);
    parent = parent->is_array() ? &parent->items.at(std::stoul(key)) : &member(key)->value;
    pointer.erase(0, slash + 1);
  }
  if (parent->is_array()) {
    const auto at = parent->items.begin() + std::stol(pointer);
    if (verb == "insert") parent->items.insert(at, edit.items[2]);
    if (verb == "set") *at = edit.items[2];
    if (verb == "remove") parent->items.erase(at);
  } else if (verb == "remove") {
    parent->members.erase(member(pointer));
  } else if (const auto at = member(pointer); at != parent->members.end()) {
    at->value = edit.items[2];
  } else {
    parent->members.push_back({pointer, edit.items[2]});
  }
}

// Returns the bytes of the base file with its program edited.
inline std::string broken_file(const BrokenProgram& program) {
  const Archive archive = Archive::open(base_file(program.base)).value();
  StringSink sink;
  ZipWriter writer(sink, ZipStyle::torch);
  for (const Entry& entry : archive.zip().entries()) {
    std::string content(archive.zip().read(entry).value().text());
    if (archive.relative_name(entry) == "models/model.json") {
      JsonValue root = parse_json(content).value();
      for (const JsonValue& edit : program.edits) apply_edit(root, edit);
      JsonWriter json;
      json.value(root);
      content = json.text();
    }
    writer.add(entry.name, content).value();
  }
  writer.finish().value();
  return sink.take();
}

}  // namespace pt2::test

#endif  // PT2_TESTS_PACKAGE_BROKEN_PROGRAMS_H
