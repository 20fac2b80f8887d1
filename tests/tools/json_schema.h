// Documents against the published schemas (docs/json): as much of JSON Schema as these use.
#ifndef PT2_TESTS_TOOLS_JSON_SCHEMA_H
#define PT2_TESTS_TOOLS_JSON_SCHEMA_H

#include <filesystem>
#include <map>
#include <string>

#include "base/json.h"

namespace pt2::test {

class JsonSchemas {
 public:
  // Reads NAME.schema.json of the folder.
  explicit JsonSchemas(const std::filesystem::path& folder);

  bool has(const std::string& name) const { return schemas_.contains(name + ".schema.json"); }
  // What is wrong with the document, and where; empty where nothing is.
  std::string fault(const std::string& name, const JsonValue& document) const;

 private:
  std::string fault_of(const JsonValue& schema, const JsonValue& value,
                       const std::string& place) const;
  std::string object_fault(const JsonValue& schema, const JsonValue& value,
                           const std::string& place) const;

  std::map<std::string, JsonValue> schemas_;  // by name of the file
};

}  // namespace pt2::test

#endif  // PT2_TESTS_TOOLS_JSON_SCHEMA_H
