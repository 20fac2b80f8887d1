#include "ir/version_facts.h"

#include "pt2/format/schema_json.h"

namespace pt2 {

int version_number(const SchemaVersion& version) {
  return schema::version_number({.major = version.major, .minor = version.minor});
}

ExprSpelling expression_spelling(int version) {
  return version < 802 ? ExprSpelling::str : ExprSpelling::srepr;
}
std::optional<ArgumentKind> usual_argument_kind(int version) {
  return version < 804 ? std::nullopt : std::optional(ArgumentKind::positional);
}
bool has_node_names(int version) { return version >= 816; }
bool has_guards(int version) { return version >= 811; }

}  // namespace pt2
