// What a program may say or leave out without computing anything else. Releases, and machines,
// differ in that.
#ifndef PT2_INSPECT_SPELLING_H
#define PT2_INSPECT_SPELLING_H

#include <map>
#include <string>

#include "inspect/plain_text.h"
#include "pt2/ir/program.h"

namespace pt2 {

// The argument has the operator's default, or says which library computes (cudnn_enabled).
bool says_nothing(const Node& node, const NamedArgument& input);
// The node repeats that a symbol is a size.
bool says_nothing(const Node& node);
// An input of the graph that is not the caller's, and that nothing reads.
bool is_unused_weight(const Program& program, size_t input);
// By name, of the symbols that values have. A lower bound of 0 to 2 says no more than that PyTorch
// took the size for none of the special ones, which it spells differently in each release.
std::map<std::string, SymRange> telling_ranges(const Program& program, SymbolNames& symbols);

}  // namespace pt2

#endif  // PT2_INSPECT_SPELLING_H
