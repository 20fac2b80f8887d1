// The expressions and guards of real programs, as they are spelled in the JSON.
#ifndef PT2_TESTS_IR_PROGRAM_TEXTS_H
#define PT2_TESTS_IR_PROGRAM_TEXTS_H

#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "pt2/format/schema_json.h"
#include "pt2/ir/symbols.h"
#include "seeds.h"

namespace pt2::test {

struct ProgramTexts {
  ExprSpelling spelling = ExprSpelling::str;
  std::set<std::string> expressions;
  std::set<std::string> range_keys;
  std::set<std::string> guards;
};

// Collects all strings after `"key": `. Expressions contain no escapes.
inline void collect_strings(std::string_view json, std::string_view key,
                            std::set<std::string>& out) {
  const std::string start = "\"" + std::string(key) + "\": \"";
  for (size_t at = json.find(start); at != std::string_view::npos; at = json.find(start, at)) {
    at += start.size();
    out.emplace(json.substr(at, json.find('"', at) - at));
  }
}

inline ProgramTexts program_texts(std::span<const std::byte> json) {
  ProgramTexts texts;
  const std::string_view text(reinterpret_cast<const char*>(json.data()), json.size());
  collect_strings(text, "expr_str", texts.expressions);
  collect_strings(text, "as_expr", texts.expressions);  // SymBool of schema version 1
  Diagnostics warnings;
  const auto program = schema::decode_program(text, {}, warnings);
  if (!program) return texts;
  const auto& version = program->schema_version;
  if (version.major > 8 || (version.major == 8 && version.minor >= 2))
    texts.spelling = ExprSpelling::srepr;
  for (const auto& [key, range] : program->range_constraints) texts.range_keys.insert(key);
  texts.guards.insert(program->guards_code.begin(), program->guards_code.end());
  return texts;
}

// Returns the texts of tests/data/corpus and of the collection that PT2_CORPUS names, if any.
inline std::vector<ProgramTexts> corpus_texts() {
  std::vector<std::filesystem::path> folders{std::filesystem::path(PT2_TEST_DATA) / "corpus"};
  if (const char* larger = std::getenv("PT2_CORPUS")) folders.emplace_back(larger);
  std::vector<ProgramTexts> found;
  for (const auto& folder : folders)
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
      if (file.path().extension() != ".pt2" || file.path().parent_path().filename() == "negative")
        continue;
      for (const Record& record : stored_records(read_bytes(file.path())))
        if (record.name.ends_with("serialized_exported_program.json") ||
            (record.name.find("models/") != std::string::npos && record.name.ends_with(".json")))
          found.push_back(program_texts(record.bytes));
    }
  return found;
}

}  // namespace pt2::test

#endif  // PT2_TESTS_IR_PROGRAM_TEXTS_H
