// Properties of the files of a schema version.
#ifndef PT2_IR_VERSION_FACTS_H
#define PT2_IR_VERSION_FACTS_H

#include <optional>

#include "pt2/ir/program.h"

namespace pt2 {

// Same as schema::version_number: 820 for 8.20.
int version_number(const SchemaVersion& version);

// Returns the spelling of expressions in files of that version.
ExprSpelling expression_spelling(int version);
// Returns the kind of arguments without a marker: positional since 8.4, none (nullopt) before.
std::optional<ArgumentKind> usual_argument_kind(int version);
// True since 8.16: nodes have FX names. A node usually has the name of its first result.
bool has_node_names(int version);
// True since 8.11: files contain guards on the inputs.
bool has_guards(int version);

}  // namespace pt2

#endif  // PT2_IR_VERSION_FACTS_H
