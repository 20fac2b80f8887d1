#include "convert/converter.h"

#include "ir/version_facts.h"
#include "pt2/format/schema_json.h"

namespace pt2 {

Converter::Converter(Program converted, ConversionTarget wanted, const ConvertOptions& options,
                     LoadPayloads load)
    : program(std::move(converted)),
      source(release_of(program)),
      from(version_number(program.schema_version)),
      target(wanted),
      to(wanted.schema),
      pipeline{.budget = NodeBudget(options.limits.max_new_nodes),
               .spelling = expression_spelling(to)},
      options_(options),
      load_payloads_(std::move(load)) {}

bool is_accepted(const Blocker& blocker, const ConvertOptions& options) {
  const std::string_view loss = blocker.info().loss;
  return !loss.empty() && options.losses.contains(loss);
}

bool Converter::block(Blocker blocker) {
  const bool accepted = accepts(blocker);
  (accepted ? lost : blockers).push_back(std::move(blocker));
  return accepted;
}

const Release* release_from(int number) {
  for (const Release& release : releases())
    if (release.number >= number) return &release;
  return nullptr;
}

}  // namespace pt2
