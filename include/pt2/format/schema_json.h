// The export schema as JSON: every version that PyTorch ever wrote, read into the types of schema.h
// and written back in the spelling of the version that the program names, byte for byte. What
// PyTorch's torch/_export/serde/serialize.py does with dataclasses and json.
//
//   Diagnostics warnings;
//   PT2_TRY(schema::ExportedProgram program, schema::decode_program(json, limits, warnings));
//   program.torch_version = "2.15.0";
//   // Differs from `json` in the version alone.
//   std::string text = schema::encode_program(program);
#ifndef PT2_FORMAT_SCHEMA_JSON_H
#define PT2_FORMAT_SCHEMA_JSON_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/diagnostics.h"
#include "pt2/format/schema.h"
#include "pt2/limits.h"
#include "pt2/result.h"

namespace pt2::schema {

// Describes a type at run time; src/schema/type.h.
struct Type;
// Defined for every type that schema.def declares.
template <class T>
const Type& type_of();

// The newest version known here, in schema.def's notation: 820 is 8.20.
inline constexpr int kNewestVersion = 820;
// 100 * major + minor; what a file of that version may hold.
int version_number(const SchemaVersion& version);

// Reads one JSON text. Fails as `malformed` (not JSON, or of a wrong type; also integers beyond 64
// bits, which Python's json reads and PyTorch's kernels refuse), `invalid` (an alternative or enum
// number that its version does not have), `unsupported` (a newer major version) or `limit`; `where`
// is a path such as ".graph_module.graph.nodes[12].inputs[0].arg". Adds V201 to V206 for what is
// kept although it is not understood. Linear in the text, in time and memory.
Result<ExportedProgram> decode_program(std::string_view json, const Limits& limits,
                                       Diagnostics& warnings);

// JSON in the spelling of `program.schema_version`. A decoded program gives the bytes of its file,
// except for the blanks between tokens: those are Python's or none, decided by the file's first
// key.
std::string encode_program(const ExportedProgram& program);
// The same with line breaks and indentation, to read.
std::string encode_program_pretty(const ExportedProgram& program);

// The same for any struct of schema.def: PayloadConfig, Model, ExternKernelNodes, ... A text that
// names no schema version is read and written as the newest. A union alone is no text: `argument`.
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

// Equal in everything but spelling; the order of a dictionary's keys counts. Floats compare by
// bits, so NaN equals itself and 0.0 differs from -0.0.
bool equal_values(const Type& type, const void* left, const void* right);
template <class T>
bool equal(const T& left, const T& right) {
  return equal_values(type_of<T>(), &left, &right);
}
// Equal values have equal hashes, in every process and on every machine.
uint64_t hash_value(const Type& type, const void* value);
template <class T>
uint64_t hash(const T& value) {
  return hash_value(type_of<T>(), &value);
}

// One place where two values differ: ".graph_module.graph.nodes[3].target", and the JSON of both
// sides ("" = absent).
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
