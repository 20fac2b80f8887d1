#include "analysis/program_checks.h"
#include "package/pickle_checks.h"
#include "pt2/package.h"
#include "pt2/verify.h"

namespace pt2 {

Diagnostics find_foreign_code(const Package& package) {
  const Archive& archive = package.archive();
  Diagnostics found;
  check_pickles(archive, found);
  for (const std::string& model : package.models()) {
    const Program& program = *package.program(model).value();
    const ProgramPlace place{archive.name(), archive.name() + "!" + model + ":",
                             package.draft(model) != nullptr};
    check_embedded_pickles(program, place.program, archive.limits(), found);
    Diagnostics all;
    check_dialect(program, place, all);
    check_guards(program, place, all);
    for (const Diagnostic& finding : all.all())
      if (finding.rule == Rule::forbidden_target || finding.rule == Rule::guard_reads)
        found.add(finding.rule, Error{finding.code, finding.text, finding.where});
  }
  return found;
}

}  // namespace pt2
