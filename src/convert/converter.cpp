#include "convert/converter.h"

#include "ir/version_facts.h"
#include "pt2/format/schema_json.h"

namespace pt2 {
namespace {

ExprSpelling spelling_of(int schema) {
  constexpr int kFirstWithSrepr = 802;
  return schema >= kFirstWithSrepr ? ExprSpelling::srepr : ExprSpelling::str;
}

}  // namespace

Converter::Converter(Program converted, ConversionTarget wanted, const ConvertOptions& options,
                     LoadPayloads load)
    : program(std::move(converted)),
      source(release_of(program)),
      from(version_number(program.schema_version)),
      target(wanted),
      to(wanted.schema),
      pipeline{.budget = NodeBudget(options.limits.max_new_nodes), .spelling = spelling_of(to)},
      losses_(options.losses),
      load_payloads_(std::move(load)) {}

bool Converter::block(Blocker blocker) {
  const std::string_view loss = blocker.info().loss;
  const bool accepted = !loss.empty() && losses_.contains(loss);
  (accepted ? lost : blockers).push_back(std::move(blocker));
  return accepted;
}

const Release* release_from(int number) {
  for (const Release& release : releases())
    if (release.number >= number) return &release;
  return nullptr;
}

}  // namespace pt2
