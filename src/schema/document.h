// The schema as text to read, made from the table, so that it cannot be out of date.
#ifndef PT2_SCHEMA_DOCUMENT_H
#define PT2_SCHEMA_DOCUMENT_H

#include <string>

namespace pt2::schema {

// Markdown: a table for each type, with field or alternative, id, type, versions, and the default
// of a missing field.
std::string document_types();

}  // namespace pt2::schema

#endif  // PT2_SCHEMA_DOCUMENT_H
