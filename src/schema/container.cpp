#include "pt2/format/container.h"

#include <memory>

#include "base/json_keys.h"
#include "pt2/format/schema_json.h"
#include "schema/path.h"

namespace pt2::schema {
namespace {

std::string below(std::string path, std::string_view key) {
  append_key_step(path, key);
  return path;
}

// The method of torch.nn.Module that every exported module has.
constexpr std::string_view kMainMethod = "forward";

void add_methods(Program& program, const std::string& prefix, const std::string& path,
                 std::vector<ContainerMember>& members) {
  for (auto& [method, exported] : program.methods)
    members.push_back({.name = prefix + method,
                       .path = below(path + ".methods", method),
                       .program = &exported,
                       .is_main = prefix.empty() && method == kMainMethod});
}

std::vector<ContainerMember> members_of(Program& program) {
  std::vector<ContainerMember> members;
  add_methods(program, "", "", members);
  return members;
}

std::vector<ContainerMember> members_of(Model& model) {
  std::vector<ContainerMember> members;
  // The key `program` has two forms; only the form of 8.11 has its own version.
  if (model.program.schema_version.major != 0)
    members.push_back(
        {.name = model.name, .path = ".program", .program = &model.program, .is_main = true});
  add_methods(model.program_methods, "", ".program", members);
  for (auto& [backend, program] : model.delegates)
    add_methods(program, backend + "/", below(".delegates", backend), members);
  for (auto& [variant, exported] : model.variants)
    members.push_back({.name = variant, .path = below(".variants", variant), .program = &exported});
  return members;
}

}  // namespace

Result<Container> decode_container(std::string_view json, const Limits& limits,
                                   Diagnostics& warnings) {
  if (document_kind(json) == DocumentKind::methods) {
    PT2_TRY(Program program, decode<Program>(json, limits, warnings));
    return Container(std::move(program));
  }
  // GCC 12 warns that a Model on the stack may be uninitialized.
  const auto model = std::make_unique<Model>();
  PT2_TRY_VOID(decode_into(type_of<Model>(), model.get(), json, limits, warnings));
  return Container(std::move(*model));
}

std::vector<ContainerMember> container_members(Container& container) {
  return std::visit([](auto& document) { return members_of(document); }, container);
}

}  // namespace pt2::schema
