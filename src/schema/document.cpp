#include "schema/document.h"

#include <fmt/format.h>

#include "schema/type.h"
#include "schema/version.h"

namespace pt2::schema {
namespace {

std::string versions_text(const Member& member) {
  const std::string since = version_text(member.since);
  if (member.until == kForever) return since + " –";
  if (member.until == member.since) return since;
  // A nonexistent version, such as 7.99, means "until the next major version".
  if (member.until % 100 == 99) return fmt::format("{} – {}.x", since, member.until / 100);
  return fmt::format("{} – {}", since, version_text(member.until));
}

std::string missing_text(const Member& member, const Type& owner) {
  if (owner.kind == Kind::variant) return "";
  switch (member.presence) {
    case Presence::required:
      return "error";
    case Presence::optional:
      return "null";
    case Presence::defaulted:
      return member.default_json.empty() ? "empty" : fmt::format("`{}`", member.default_json);
    case Presence::unreleased:
      return "empty; in no release";
  }
  return "";
}

std::string document_members(const Type& type) {
  const bool is_union = type.kind == Kind::variant;
  std::string text =
      fmt::format("| {} | id | type | versions |{}\n", is_union ? "alternative" : "field",
                  is_union ? "" : " when missing |");
  text += is_union ? "|---|---|---|---|\n" : "|---|---|---|---|---|\n";
  for (const Member& member : type.members) {
    text += fmt::format("| {} | {} | {} | {} |", member.key,
                        member.id == 0 ? "" : std::to_string(member.id), type_text(*member.type),
                        versions_text(member));
    text += is_union ? "\n" : fmt::format(" {} |\n", missing_text(member, type));
  }
  return text;
}

std::string document_enumeration(const Type& type) {
  std::string text = "| name | number | since |\n|---|---|---|\n";
  for (const EnumValue& value : type.values) {
    text += fmt::format("| {} | {} | {} |\n", value.name, value.value, version_text(value.since));
  }
  return text;
}

}  // namespace

std::string document_types() {
  std::string text =
      "# The export schema\n\nEvery type of every version, from `include/pt2/format/schema.def`. "
      "Made by "
      "`document_types()`; "
      "do not edit.\n";
  for (const Type* type : enumerations())
    text += fmt::format("\n## {} (enum)\n\n", type->name) + document_enumeration(*type);
  for (const Type* type : types()) {
    text += fmt::format("\n## {}{}\n\n", type->name, type->kind == Kind::variant ? " (union)" : "");
    text += document_members(*type);
  }
  return text;
}

}  // namespace pt2::schema
