// Converts what a file says (pt2::schema) to what is computed with (pt2::Program), for every schema
// version.
#ifndef PT2_SERDE_FROM_SCHEMA_H
#define PT2_SERDE_FROM_SCHEMA_H

#include "ir/node_origins.h"
#include "pt2/format/schema.h"
#include "pt2/ir/program.h"
#include "schema/pieces.h"

namespace pt2 {

// Resolves names: every value is in its graph's tables, defined once and before it is used. Version
// 1's constants become inputs of the graph, as in later versions. Errors: `invalid` where a rule of
// the graph is broken, `unsupported` for alternatives of newer schemas that a program cannot do
// without, `limit` for nesting; `where` is the place in the JSON,
// ".graph_module.graph.nodes[3].inputs[0]". Linear in the source.
Result<Program> from_schema(schema::ExportedProgram source);
// The same, but goes on where a rule of the graph is broken: each breach is added to `faults`
// (V5xx). The program is made of the rest, and is good only for inspection.
Result<Program> from_schema(schema::ExportedProgram source, Diagnostics& faults);

// The program that `json` decodes to, without faults, in a fraction of the memory that the schema's
// types of a long one take. Nothing where the text is no longer than a piece, or where anything
// about it calls for decode_program and from_schema: a fault, a finding at a node, spellings to be
// kept. `warnings` are those of decode_program.
std::optional<Program> read_in_pieces(std::string_view json, const Limits& limits,
                                      Diagnostics& warnings,
                                      schema::PieceReader::Release release = {},
                                      NodeOrigins origins = NodeOrigins::whole,
                                      size_t piece_bytes = schema::kPieceBytes);

// Symbolic sizes are parsed into `pool`. `major` is the file's schema version, which decides
// between old and new fields.
Result<TensorMeta> read_tensor_meta(const schema::TensorMeta& source, int64_t major,
                                    ExprPool& pool);

}  // namespace pt2

#endif  // PT2_SERDE_FROM_SCHEMA_H
