// The rules of the whole verifier that a transformed program breaks.
#ifndef PT2_TESTS_LOWER_BROKEN_RULES_H
#define PT2_TESTS_LOWER_BROKEN_RULES_H

#include <set>

#include "pt2/ops/verify_operators.h"
#include "pt2/verify.h"

namespace pt2 {

inline std::set<Rule> broken_rules(const Program& program) {
  std::set<Rule> out;
  const Diagnostics findings =
      verify_program(program, "program", Level::full, {.operators = check_operators});
  for (const Diagnostic& finding : findings.all()) out.insert(finding.rule);
  return out;
}

}  // namespace pt2

#endif  // PT2_TESTS_LOWER_BROKEN_RULES_H
