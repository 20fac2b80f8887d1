// Parts of a program that can be stated or omitted without changing what it computes. Releases and
// exporting machines differ in them.
#ifndef PT2_INSPECT_SPELLING_H
#define PT2_INSPECT_SPELLING_H

#include <map>
#include <string>

#include "inspect/plain_text.h"
#include "pt2/ir/program.h"

namespace pt2 {

// True if the argument has the operator's default, or only selects a library (cudnn_enabled).
bool says_nothing(const Node& node, const NamedArgument& input);
// True if the node only repeats that a symbol is a size.
bool says_nothing(const Node& node);
// True for a graph input that is not the caller's and that no node reads.
bool is_unused_weight(const Program& program, size_t input);
// Returns ranges by name for the symbols of values. Omits a lower bound of 0 to 2: it only says
// that PyTorch did not specialize the size, which each release spells differently.
std::map<std::string, SymRange> telling_ranges(const Program& program, SymbolNames& symbols);

}  // namespace pt2

#endif  // PT2_INSPECT_SPELLING_H
