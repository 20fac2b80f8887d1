// Checks that a text uses only forms that a file of its schema version can hold.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "pt2/format/schema_json.h"
#include "schema/type.h"
#include "schema/version.h"
#include "text/parser.h"
#include "text/vocabulary.h"

namespace pt2 {
namespace {

using Wrapper = Argument::Wrapper;

// Returns the key of the alternative of schema::Argument that represents an argument (src/serde,
// write_argument). One overload for each alternative of Argument::Variant.
struct KeyOf {
  const Argument& argument;
  const Graph* graph;

  bool is_symbolic() const { return argument.wrapper == Wrapper::symbolic; }
  bool is_optional() const { return argument.wrapper == Wrapper::optional; }

  std::string operator()(None) const { return is_optional() ? "as_optional_tensor" : "as_none"; }
  std::string operator()(ValueId id) const {
    if (is_optional()) return "as_optional_tensor";
    switch (graph->value(id).kind()) {
      case ValueKind::tensor:
        return "as_tensor";
      case ValueKind::sym_int:
        return "as_sym_int";
      case ValueKind::sym_float:
        return "as_sym_float";
      case ValueKind::sym_bool:
        return "as_sym_bool";
      case ValueKind::custom_obj:
        return "as_custom_obj";
    }
    return {};
  }
  std::string operator()(bool) const { return is_symbolic() ? "as_sym_bool" : "as_bool"; }
  std::string operator()(int64_t) const { return is_symbolic() ? "as_sym_int" : "as_int"; }
  std::string operator()(double) const { return is_symbolic() ? "as_sym_float" : "as_float"; }
  std::string operator()(std::complex<double>) const { return "as_complex"; }
  std::string operator()(const std::string&) const { return "as_string"; }
  std::string operator()(ScalarType) const { return "as_scalar_type"; }
  std::string operator()(MemoryFormat) const { return "as_memory_format"; }
  std::string operator()(Layout) const { return "as_layout"; }
  std::string operator()(const Device&) const { return "as_device"; }
  std::string operator()(const OperatorName&) const { return "as_operator"; }
  std::string operator()(SubgraphId) const { return "as_graph"; }
  std::string operator()(const CustomObject&) const { return "as_custom_obj"; }
  std::string operator()(const ArgumentList& list) const {
    return fmt::format("as_{}", list_kind_word(list.kind));
  }
  std::string operator()(const ArgumentMap&) const { return "as_string_to_argument"; }
  std::string operator()(const UnknownArgument& unknown) const { return unknown.tag; }
};

// Returns "as_complex is in schema 8.14 and later"; nullopt if the version has the key.
std::optional<std::string> missing(std::string_view key, int version) {
  int since = std::numeric_limits<int>::max();
  for (const schema::Member& member : schema::type_of<schema::Argument>().members) {
    if (member.key != key) continue;
    if (member.is_in(version)) return std::nullopt;
    since = std::min(since, member.since);
  }
  // A newer minor version may have any alternative.
  if (version > schema::kNewestVersion) return std::nullopt;
  if (since > version && since != std::numeric_limits<int>::max())
    return fmt::format("{} is in schema {} and later", key, schema::version_text(since));
  return fmt::format("the schema has no {}", key);
}

Error not_in(const Parsing& parsing, size_t offset, const std::string& what) {
  return parsing.reader.error_at(
      offset, ErrorCode::invalid,
      fmt::format("{}, the text is of {}", what, schema::version_text(parsing.version)));
}

}  // namespace

Result<void> check_argument_version(const Parsing& parsing, const Argument& argument,
                                    const Graph* graph, size_t offset) {
  const std::string key = std::visit(KeyOf{argument, graph}, argument.variant);
  if (const auto what = missing(key, parsing.version)) return not_in(parsing, offset, *what);
  return {};
}

Result<void> check_argument_kind(const Parsing& parsing, std::optional<ArgumentKind> kind,
                                 size_t offset) {
  constexpr int kSince = 804;
  if (!kind || parsing.version > schema::kNewestVersion) return {};
  if (parsing.version < kSince)
    return not_in(
        parsing, offset,
        fmt::format(
            "whether an argument is positional or a keyword is recorded in schema {} and later",
            schema::version_text(kSince)));
  if (*kind >= ArgumentKind::unknown && *kind <= ArgumentKind::keyword) return {};
  return parsing.reader.error_at(
      offset, ErrorCode::invalid,
      fmt::format("found the kind {}, expected 0, 1 or 2", static_cast<int64_t>(*kind)));
}

}  // namespace pt2
