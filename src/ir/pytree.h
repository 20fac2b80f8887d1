// The structure of a program's inputs and outputs: torch.utils._pytree's TreeSpec as JSON,
// protocol 1.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pt2/program.h"
#include "pt2/result.h"

namespace pt2 {

struct TreeSpec {
  std::string type;     // "builtins.tuple"; empty for a leaf
  std::string context;  // as written: mostly JSON inside a string
  std::vector<TreeSpec> children;
  // How Python reaches each child, "[0]", ".field"; dict keys that are names are ".key", others
  // "[\"a b\"]".
  std::vector<std::string> accessors;

  bool is_leaf() const { return type.empty(); }
};

// Errors: malformed (not JSON, not a tree), unsupported (another protocol), limit (nested too
// deep). The types are not checked: unknown ones are nodes whose children have numbers.
Result<TreeSpec> parse_treespec(std::string_view json,
                                const std::vector<NamedTupleFields>& namedtuples);
size_t leaf_count(const TreeSpec& spec);
// "root" and the accessors down to each leaf, in flat order.
std::vector<std::string> leaf_names(const TreeSpec& spec, std::string_view root);

}  // namespace pt2
