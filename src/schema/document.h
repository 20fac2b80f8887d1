// The schema as text for readers, generated from the table, so that it is always up to date.
#ifndef PT2_SCHEMA_DOCUMENT_H
#define PT2_SCHEMA_DOCUMENT_H

#include <string>

namespace pt2::schema {

// Returns Markdown: a table for each type, with field or alternative, id, type, versions, and the
// default of a missing field.
std::string document_types();

}  // namespace pt2::schema

#endif  // PT2_SCHEMA_DOCUMENT_H
