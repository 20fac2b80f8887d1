// Converts pt2::Program to what a file says (pt2::schema): the inverse of from_schema.
#ifndef PT2_SERDE_TO_SCHEMA_H
#define PT2_SERDE_TO_SCHEMA_H

#include "pt2/format/schema.h"
#include "pt2/ir/program.h"

namespace pt2 {

// The program in the form of its own `schema_version`, which decides the fields and the form of
// optional tensors, bounds, booleans and the signature. A program that was read comes back as it
// was. Nested graphs and values without references are left out. Does not check that the version
// knows every kind of argument; converting between releases does. Linear in the program.
schema::ExportedProgram to_schema(const Program& program);

// `version` as in schema_json.h: 820 is 8.20.
schema::TensorMeta to_schema(const TensorMeta& meta, int version);

}  // namespace pt2

#endif  // PT2_SERDE_TO_SCHEMA_H
