// Shared by the files of to_schema.
#ifndef PT2_SERDE_TO_SCHEMA_INTERNAL_H
#define PT2_SERDE_TO_SCHEMA_INTERNAL_H

#include <string>
#include <vector>

#include "serde/to_schema.h"

namespace pt2 {

// `graph` names the values; null if only constants are allowed.
schema::Argument write_argument(const Argument& argument, const Graph* graph, int version);
schema::Argument write_argument_spec(const ArgumentSpec& spec, int version);
// `is_left_out` is true for inputs that are constants of version 1, which have no input in files;
// empty if there are none.
schema::Graph write_graph(const Graph& graph, const std::vector<bool>& is_left_out, int version);

schema::GraphSignature write_signature(const GraphSignature& signature, int version);
schema::GraphSignatureV1 write_signature_v1(const GraphSignature& signature);

}  // namespace pt2

#endif  // PT2_SERDE_TO_SCHEMA_INTERNAL_H
