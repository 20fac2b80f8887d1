// Containers: JSON documents with several programs, schema::Model of versions 8.6 to 8.11, and
// schema::Program of 8.6 to 8.10 without a model around it. Use package.h to open a file with a
// container; it gives the programs by the same names.
//
//   PT2_TRY(schema::Container container, schema::decode_container(json, limits, warnings));
//   for (const auto& member : schema::container_members(container)) use(*member.program);
//   std::string same = schema::encode(std::get<schema::Model>(container));
#ifndef PT2_FORMAT_CONTAINER_H
#define PT2_FORMAT_CONTAINER_H

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pt2/diagnostics.h"
#include "pt2/format/schema.h"
#include "pt2/limits.h"
#include "pt2/result.h"

namespace pt2::schema {

using Container = std::variant<Model, Program>;

// Decodes a container, a Program if the outermost keys are those of one. Errors and warnings as
// those of decode() in schema_json.h.
Result<Container> decode_container(std::string_view json, const Limits& limits,
                                   Diagnostics& warnings);

struct ContainerMember {
  // In 8.6 to 8.10: the name of the method, "<backend>/<method>" in a delegate. In 8.11: the name
  // of the model for `program`, the name of the variant for a variant.
  std::string name;
  std::string path;  // ".program.methods.forward", ".methods.forward" in a Program
  ExportedProgram* program = nullptr;
  // True for a program that is the default if the caller names none: `program`, or the method
  // "forward".
  bool is_main = false;
};

// Returns the programs of a container in its order. The pointers point into `container`.
std::vector<ContainerMember> container_members(Container& container);

}  // namespace pt2::schema

#endif  // PT2_FORMAT_CONTAINER_H
