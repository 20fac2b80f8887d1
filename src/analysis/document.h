// The rules as text to read, made from their table, so that it cannot be out of date.
#pragma once

#include <string>

namespace pt2 {

// Markdown: a table of the rules for each hundred of numbers.
std::string document_rules();

}  // namespace pt2
