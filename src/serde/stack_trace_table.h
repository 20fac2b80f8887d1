// The table of stack traces of a graph of schema 5.3 (CoFileInfo; PyTorch PR #121675), and the
// traces of its nodes.
#ifndef PT2_SERDE_STACK_TRACE_TABLE_H
#define PT2_SERDE_STACK_TRACE_TABLE_H

#include "pt2/stack_traces.h"
#include "serde/from_schema_internal.h"

namespace pt2 {

// Takes the graph's table and gives every node its whole trace; nothing when the graph has no
// table. Where a trace would not come back as it was, all are kept and V210 is reported.
std::optional<StackTraceTable> take_stack_traces(schema::Graph& source, ReadContext& context);

// The opposite: compacts the traces of `out` into the table and writes it; with no table, writes
// none.
void put_stack_traces(std::optional<StackTraceTable> table, schema::Graph& out);

}  // namespace pt2

#endif  // PT2_SERDE_STACK_TRACE_TABLE_H
