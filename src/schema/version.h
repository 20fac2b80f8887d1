// Finds the schema version of a JSON text before it is decoded, because the spelling of everything
// depends on it.
#ifndef PT2_SCHEMA_VERSION_H
#define PT2_SCHEMA_VERSION_H

#include <string_view>

#include "pt2/format/schema.h"
#include "pt2/result.h"

namespace pt2::schema {

// The value of the key "schema_version" of the outermost object, or, unless `outermost`, of the
// first object that has it. {0, 0} when the key is missing or its value is no version; decoding
// will then report the fault. Linear in the text.
SchemaVersion find_schema_version(std::string_view json, bool outermost);

// Fails as `unsupported` for a major version unknown here.
Result<void> check_major(const SchemaVersion& version);

// "8.20", or "2" for what has no minor.
std::string version_text(int version);

}  // namespace pt2::schema

#endif  // PT2_SCHEMA_VERSION_H
