// Containers: one JSON document with several programs, schema::Model of versions 8.6 to 8.11. To
// open a file that has one use package.h, which gives its programs by these names; decode and
// encode are those of schema_json.h:
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
  // Of 8.6 to 8.10: the method's name, "<backend>/<method>" in a delegate. Of 8.11: the model's
  // name for `program`, the variant's for a variant.
  std::string name;
  std::string path;  // ".program.methods.forward"
  ExportedProgram* program = nullptr;
  // The program that is used when the caller names none: `program`, or the method "forward".
  bool is_main = false;
};

// The programs of a container, in its order; they point into `model`.
std::vector<ContainerMember> container_members(Model& model);

}  // namespace pt2::schema

#endif  // PT2_FORMAT_CONTAINER_H
