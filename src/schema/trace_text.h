// A file's own spelling (file_spelling.h) as one line of JSON, for text forms of a program.
#ifndef PT2_SCHEMA_TRACE_TEXT_H
#define PT2_SCHEMA_TRACE_TEXT_H

#include <string>
#include <string_view>

#include "pt2/format/file_spelling.h"
#include "pt2/result.h"
#include "schema/type.h"

namespace pt2::schema {

// Prints the trace of a record of `type`; empty for an empty holder.
std::string print_trace(const TraceHolder& trace, const Type& type);
// The inverse. Error `malformed` for another kind of text, for members that `type` lacks, for a
// repeated key, and for parts that are not JSON and would make the encoder write invalid JSON.
Result<TraceHolder> parse_trace(std::string_view text, const Type& type);

}  // namespace pt2::schema

#endif  // PT2_SCHEMA_TRACE_TEXT_H
