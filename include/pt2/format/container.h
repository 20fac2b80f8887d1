// Containers: JSON documents with several programs, schema::Model of versions 8.6 to 8.11. Use
// package.h to open a file with a container; it gives the programs by the same names. Functions of
// schema_json.h decode and encode containers:
//
//   PT2_TRY(schema::Model model, schema::decode<schema::Model>(json, limits, warnings));
//   for (const auto& member : schema::container_members(model)) use(*member.program);
//   std::string same = schema::encode(model);
#ifndef PT2_FORMAT_CONTAINER_H
#define PT2_FORMAT_CONTAINER_H

#include <string>
#include <vector>

#include "pt2/format/schema.h"

namespace pt2::schema {

struct ContainerMember {
  // In 8.6 to 8.10: the name of the method, "<backend>/<method>" in a delegate. In 8.11: the name
  // of the model for `program`, the name of the variant for a variant.
  std::string name;
  std::string path;  // ".program.methods.forward"
  ExportedProgram* program = nullptr;
  // True for a program that is the default if the caller names none: `program`, or the method
  // "forward".
  bool is_main = false;
};

// Returns the programs of a container in its order. The pointers point into `model`.
std::vector<ContainerMember> container_members(Model& model);

}  // namespace pt2::schema

#endif  // PT2_FORMAT_CONTAINER_H
