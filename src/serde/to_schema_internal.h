// Shared by the parts of to_schema.
#ifndef PT2_SERDE_TO_SCHEMA_INTERNAL_H
#define PT2_SERDE_TO_SCHEMA_INTERNAL_H

#include <string>
#include <vector>

#include "serde/to_schema.h"

namespace pt2 {

// `graph` names the values; null where only constants may stand.
schema::Argument write_argument(const Argument& argument, const Graph* graph, int version);
schema::Argument write_argument_spec(const ArgumentSpec& spec, int version);
// `input_count`: the proper inputs of the graph, behind which version 1's constants are kept.
schema::Graph write_graph(const Graph& graph, size_t input_count, int version);

schema::GraphSignature write_signature(const GraphSignature& signature, int version);
schema::GraphSignatureV1 write_signature_v1(const GraphSignature& signature);

}  // namespace pt2

#endif  // PT2_SERDE_TO_SCHEMA_INTERNAL_H
