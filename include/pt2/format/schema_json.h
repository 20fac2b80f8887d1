// Reads and writes the JSON of the export schema, for every version that PyTorch ever wrote. It
// reads into the types of schema.h and writes in the spelling of the program's own schema version,
// byte for byte. Corresponds to the dataclasses and json code of PyTorch's
// torch/_export/serde/serialize.py.
//
//   Diagnostics warnings;
//   PT2_TRY(schema::ExportedProgram program, schema::decode_program(json, limits, warnings));
//   program.torch_version = "2.15.0";
//   // Differs from `json` in the version alone.
//   std::string text = schema::encode_program(program);
#ifndef PT2_FORMAT_SCHEMA_JSON_H
#define PT2_FORMAT_SCHEMA_JSON_H

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/diagnostics.h"
#include "pt2/format/schema.h"
#include "pt2/limits.h"
#include "pt2/result.h"

namespace pt2::schema {

// The description of a type at run time (src/schema/type.h).
struct Type;
// Returns the description of T. Defined for every type of schema.def.
template <class T>
const Type& type_of();

// The newest version that a release writes, in the notation of schema.def: 820 is 8.20.
inline constexpr int kNewestVersion = std::max({
#define PT2_RELEASE(number, torch_version, schema, ...) schema,
#include "pt2/releases.def"
});
// Returns the version in the notation of schema.def, 100 * major + minor. Fields are valid for a
// range of these numbers.
int version_number(const SchemaVersion& version);

// Reads one JSON text. Adds V201 to V206 for content that is not understood but kept. Errors:
// `malformed` (not JSON, a wrong type, or an integer beyond 64 bits, which Python's json reads but
// PyTorch's kernels refuse), `invalid` (an alternative or enum number that the version does not
// have), `unsupported` (a newer major version), `limit`. Their `where` is a path such as
// ".graph_module.graph.nodes[12].inputs[0].arg". Linear in the text, in time and memory.
Result<ExportedProgram> decode_program(std::string_view json, const Limits& limits,
                                       Diagnostics& warnings);

// Returns the JSON in the spelling of `program.schema_version`. A decoded program gives the bytes
// of its file, except for blanks between tokens: these are Python's or none, depending on the first
// key of the file.
std::string encode_program(const ExportedProgram& program);
// As above, with line breaks and indentation for people.
std::string encode_program_pretty(const ExportedProgram& program);

// Decode and encode any struct of schema.def: PayloadConfig, Model, ExternKernelNodes, ... A text
// without a schema version is read and written as the newest version. Error `argument` for a union,
// which is not a text by itself.
enum class Print : uint8_t { as_read, pretty };
Result<void> decode_into(const Type& type, void* out, std::string_view json, const Limits& limits,
                         Diagnostics& warnings);
std::string encode_value(const Type& type, const void* value, Print print);
template <class T>
Result<T> decode(std::string_view json, const Limits& limits, Diagnostics& warnings) {
  T value;
  PT2_TRY_VOID(decode_into(type_of<T>(), &value, json, limits, warnings));
  return value;
}
template <class T>
std::string encode(const T& value) {
  return encode_value(type_of<T>(), &value, Print::as_read);
}

// True if both values are equal apart from spelling. The order of dictionary keys counts. Floats
// are compared by their bits: NaN equals itself, and 0.0 differs from -0.0.
bool equal_values(const Type& type, const void* left, const void* right);
template <class T>
bool equal(const T& left, const T& right) {
  return equal_values(type_of<T>(), &left, &right);
}
// Returns a hash of the value. Equal values have equal hashes, in every process and on every
// machine.
uint64_t hash_value(const Type& type, const void* value);
template <class T>
uint64_t hash(const T& value) {
  return hash_value(type_of<T>(), &value);
}

// One place where two values differ: its path, ".graph_module.graph.nodes[3].target", and the JSON
// of both sides ("" = absent).
struct Difference {
  std::string path;
  std::string left;
  std::string right;
};
std::vector<Difference> diff_values(const Type& type, const void* left, const void* right);
template <class T>
std::vector<Difference> diff(const T& left, const T& right) {
  return diff_values(type_of<T>(), &left, &right);
}

}  // namespace pt2::schema

#endif  // PT2_FORMAT_SCHEMA_JSON_H
