// Converts pt2::Program to the content of a file (pt2::schema): the inverse of from_schema.
#ifndef PT2_SERDE_TO_SCHEMA_H
#define PT2_SERDE_TO_SCHEMA_H

#include "pt2/format/schema.h"
#include "pt2/ir/program.h"

namespace pt2 {

// Returns the program in the form of its own `schema_version`, which determines the fields and the
// form of optional tensors, bounds, booleans and the signature. A program that was read from a file
// is reproduced exactly. Omits unreferenced nested graphs and values. Does not check that the
// version has every kind of argument; conversion between releases does. Linear in the program.
schema::ExportedProgram to_schema(const Program& program);

// `version` as in schema_json.h: 820 is 8.20.
schema::TensorMeta to_schema(const TensorMeta& meta, int version);

}  // namespace pt2

#endif  // PT2_SERDE_TO_SCHEMA_H
