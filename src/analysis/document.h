// The rules as text to read, made from their table so that it is never out of date.
#ifndef PT2_ANALYSIS_DOCUMENT_H
#define PT2_ANALYSIS_DOCUMENT_H

#include <string>

namespace pt2 {

// Markdown: a table of the rules for each hundred of numbers.
std::string document_rules();

}  // namespace pt2

#endif  // PT2_ANALYSIS_DOCUMENT_H
