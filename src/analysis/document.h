// Documents the rules from their table, so that the text is always up to date.
#ifndef PT2_ANALYSIS_DOCUMENT_H
#define PT2_ANALYSIS_DOCUMENT_H

#include <string>

namespace pt2 {

// Returns Markdown: a table of rules for each hundred of numbers.
std::string document_rules();

}  // namespace pt2

#endif  // PT2_ANALYSIS_DOCUMENT_H
