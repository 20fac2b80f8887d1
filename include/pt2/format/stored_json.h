// Returns the JSON of programs of an opened file.
#ifndef PT2_FORMAT_STORED_JSON_H
#define PT2_FORMAT_STORED_JSON_H

#include <string>
#include <string_view>

#include "pt2/format/schema_json.h"
#include "pt2/package.h"
#include "pt2/result.h"

namespace pt2 {

// Returns the JSON document of a program, decoded and encoded again. For an early draft it is the
// JSON of the draft; for a program of a container, the JSON of that program. An empty name means
// the only program, or the whole container. Errors: those of Package::program. Linear in the text.
Result<std::string> stored_json(const Package& package, std::string_view model,
                                schema::Print style);

}  // namespace pt2

#endif  // PT2_FORMAT_STORED_JSON_H
