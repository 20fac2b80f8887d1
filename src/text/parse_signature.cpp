#include <fmt/format.h>

#include "text/parser.h"
#include "text/vocabulary.h"

namespace pt2 {
namespace {

template <class Kind>
Result<Kind> parse_kind(TextReader& reader, std::string_view (*name_of)(Kind)) {
  std::string names;
  for (int i = 0; i <= static_cast<int>(Kind::token); ++i) {
    const auto kind = static_cast<Kind>(i);
    if (reader.accept_word(name_of(kind))) return kind;
    names += fmt::format("{}{}", i == 0 ? "one of " : ", ", name_of(kind));
  }
  return reader.unexpected(names);
}

template <class Spec>
Result<void> parse_target_of(Parsing& parsing, Spec& spec) {
  TextReader& reader = parsing.reader;
  if (!has_target(spec.kind) && reader.current().kind != TokenKind::string) return {};
  PT2_TRY(spec.target, reader.string());
  return {};
}

}  // namespace

Result<InputKind> parse_input_kind(Parsing& parsing) {
  return parse_kind(parsing.reader, input_kind_name);
}

Result<OutputKind> parse_output_kind(Parsing& parsing) {
  return parse_kind(parsing.reader, output_kind_name);
}

Result<void> parse_spec_target(Parsing& parsing, InputSpec& spec) {
  return parse_target_of(parsing, spec);
}
Result<void> parse_spec_target(Parsing& parsing, OutputSpec& spec) {
  return parse_target_of(parsing, spec);
}

Result<void> parse_persistent(Parsing& parsing, InputSpec& spec) {
  if (spec.kind != InputKind::buffer) return {};
  spec.persistent = !parsing.reader.accept_word("not_persistent");
  return {};
}

Result<void> parse_signature(Parsing& parsing, GraphSignature& signature) {
  TextReader& reader = parsing.reader;
  signature = {};
  PT2_TRY_VOID(reader.expect("{"));
  while (!reader.at("}")) {
    if (reader.accept_word("input")) {
      InputSpec spec;
      PT2_TRY(spec.kind, parse_input_kind(parsing));
      PT2_TRY(spec.arg, parse_argument_spec(parsing));
      PT2_TRY_VOID(parse_spec_target(parsing, spec));
      PT2_TRY_VOID(parse_persistent(parsing, spec));
      signature.input_specs.push_back(std::move(spec));
    } else if (reader.accept_word("output")) {
      OutputSpec spec;
      PT2_TRY(spec.kind, parse_output_kind(parsing));
      PT2_TRY(spec.arg, parse_argument_spec(parsing));
      PT2_TRY_VOID(parse_spec_target(parsing, spec));
      signature.output_specs.push_back(std::move(spec));
    } else {
      return reader.unexpected("'input' or 'output'");
    }
  }
  return reader.expect("}");
}

}  // namespace pt2
