// Validates documents with the published schemas (docs/json). Supports the part of JSON Schema that
// these use.
#ifndef PT2_TESTS_TOOLS_JSON_SCHEMA_H
#define PT2_TESTS_TOOLS_JSON_SCHEMA_H

#include <filesystem>
#include <map>
#include <string>

#include "base/json.h"

namespace pt2::test {

class JsonSchemas {
 public:
  // Reads all files NAME.schema.json of the folder.
  explicit JsonSchemas(const std::filesystem::path& folder);

  bool has(const std::string& name) const { return schemas_.contains(name + ".schema.json"); }
  // Returns the first fault of the document and its place; empty if it is valid.
  std::string fault(const std::string& name, const JsonValue& document) const;

 private:
  std::string fault_of(const JsonValue& schema, const JsonValue& value,
                       const std::string& place) const;
  std::string object_fault(const JsonValue& schema, const JsonValue& value,
                           const std::string& place) const;

  std::map<std::string, JsonValue> schemas_;  // by file name
};

}  // namespace pt2::test

#endif  // PT2_TESTS_TOOLS_JSON_SCHEMA_H
