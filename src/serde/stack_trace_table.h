// The stack trace table of a graph of schema 5.3 (CoFileInfo; PyTorch PR #121675), and the stack
// traces of its nodes.
#ifndef PT2_SERDE_STACK_TRACE_TABLE_H
#define PT2_SERDE_STACK_TRACE_TABLE_H

#include "pt2/ir/stack_traces.h"
#include "serde/from_schema_internal.h"

namespace pt2 {

// Takes the graph's table and gives every node its whole trace; nullopt if the graph has no table.
// If any trace would not be reproduced exactly, all traces stay as they are and V210 is reported.
std::optional<StackTraceTable> take_stack_traces(schema::Graph& source, ReadContext& context);

// The inverse: compacts the traces of `out` into the table and writes it. Writes nothing without a
// table.
void put_stack_traces(std::optional<StackTraceTable> table, schema::Graph& out);

}  // namespace pt2

#endif  // PT2_SERDE_STACK_TRACE_TABLE_H
