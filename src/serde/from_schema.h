// Converts the content of a file (pt2::schema) to the program that is computed with (pt2::Program),
// for every schema version.
#ifndef PT2_SERDE_FROM_SCHEMA_H
#define PT2_SERDE_FROM_SCHEMA_H

#include "ir/node_origins.h"
#include "pt2/format/schema.h"
#include "pt2/ir/program.h"
#include "schema/pieces.h"

namespace pt2 {

// Resolves names: every value is in its graph's tables, and is defined once and before its uses.
// Version 1's constants become inputs of the graph, as in later versions. Errors: `invalid` for a
// violated rule of the graph, `unsupported` for alternatives of newer schemas that a program needs,
// `limit` for nesting; `where` is the place in the JSON, ".graph_module.graph.nodes[3].inputs[0]".
// Linear in the source.
Result<Program> from_schema(schema::ExportedProgram source);
// The same, but continues after a violated rule of the graph and adds each violation to `faults`
// (V5xx). The program contains the rest, and is only fit for inspection.
Result<Program> from_schema(schema::ExportedProgram source, Diagnostics& faults);

// Returns the decoded program, using a fraction of the memory that the schema's types take for a
// long program. Nullopt if the text is no longer than a piece, or if it needs decode_program and
// from_schema: for a fault, a finding at a node, or spellings to keep. `warnings` are those of
// decode_program.
std::optional<Program> read_in_pieces(std::string_view json, const Limits& limits,
                                      Diagnostics& warnings,
                                      schema::PieceReader::Release release = {},
                                      NodeOrigins origins = NodeOrigins::whole,
                                      size_t piece_bytes = schema::kPieceBytes);

// Parses symbolic sizes into `pool`. `major` is the major schema version of the file, which decides
// between old and new fields.
Result<TensorMeta> read_tensor_meta(const schema::TensorMeta& source, int64_t major,
                                    ExprPool& pool);

}  // namespace pt2

#endif  // PT2_SERDE_FROM_SCHEMA_H
