// What the files of a schema version have.
#ifndef PT2_IR_VERSION_FACTS_H
#define PT2_IR_VERSION_FACTS_H

#include <optional>

#include "pt2/ir/program.h"

namespace pt2 {

// As schema::version_number: 820 for 8.20.
int version_number(const SchemaVersion& version);

// The spelling of expressions.
ExprSpelling expression_spelling(int version);
// The kind of arguments without a marker: positional since 8.4, no kind before.
std::optional<ArgumentKind> usual_argument_kind(int version);
// Nodes have FX names since 8.16; a node is usually named like its first result.
bool has_node_names(int version);
// Guards on the inputs are in files since 8.11.
bool has_guards(int version);

}  // namespace pt2

#endif  // PT2_IR_VERSION_FACTS_H
