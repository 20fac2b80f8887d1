// The JSON that an opened file holds.
#ifndef PT2_FORMAT_STORED_JSON_H
#define PT2_FORMAT_STORED_JSON_H

#include <string>
#include <string_view>

#include "pt2/format/schema_json.h"
#include "pt2/package.h"
#include "pt2/result.h"

namespace pt2 {

// The document of a program, decoded and encoded again: of an early draft the draft's own, of a
// container's program that program's. An empty name means the only program, or the whole container.
// Errors: those of Package::program. Linear in the text.
Result<std::string> stored_json(const Package& package, std::string_view model,
                                schema::Print style);

}  // namespace pt2

#endif  // PT2_FORMAT_STORED_JSON_H
