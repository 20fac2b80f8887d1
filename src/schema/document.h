// The schema as text to read, made from the table, so that it cannot be out of date.
#pragma once

#include <string>

namespace pt2::schema {

// Markdown: a table for each type: field or alternative, id, type, versions, what stands for it
// when it is missing.
std::string document_types();

}  // namespace pt2::schema
