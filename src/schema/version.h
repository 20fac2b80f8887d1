// Finds the schema version of a JSON text before decoding, because the spelling of everything
// depends on it.
#ifndef PT2_SCHEMA_VERSION_H
#define PT2_SCHEMA_VERSION_H

#include <string_view>

#include "pt2/format/schema.h"
#include "pt2/result.h"

namespace pt2::schema {

// Returns the value of the key "schema_version" of the outermost object, or, unless `outermost`, of
// the first object with that key. {0, 0} if the key is missing or its value is not a version;
// decoding then reports the fault. Linear in the text.
SchemaVersion find_schema_version(std::string_view json, bool outermost);

// Error `unsupported` for an unknown major version.
Result<void> check_major(const SchemaVersion& version);

// Returns "8.20", or "2" for a version without minor.
std::string version_text(int version);

}  // namespace pt2::schema

#endif  // PT2_SCHEMA_VERSION_H
