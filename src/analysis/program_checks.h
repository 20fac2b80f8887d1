// The checks of one program, level by level.
#ifndef PT2_ANALYSIS_PROGRAM_CHECKS_H
#define PT2_ANALYSIS_PROGRAM_CHECKS_H

#include <string>
#include <vector>

#include "package/payload_readers.h"
#include "pt2/diagnostics.h"
#include "pt2/ir/program.h"

namespace pt2 {

// The place of a program, with which the `where` of findings begins.
struct ProgramPlace {
  std::string file;     // "model.pt2"
  std::string program;  // "model.pt2!models/model.json:"
  // Arguments of the early draft are positional and have no names.
  bool is_draft = false;
};

// V2xx rules that decoding does not check.
void check_targets(const Program& program, const ProgramPlace& place, Diagnostics& findings);
// V3xx.
void check_payloads(const Program& program, const Payloads& payloads, const ProgramPlace& place,
                    Diagnostics& findings);
// V4xx of module_call_graph.
void check_calls(const Program& program, const ProgramPlace& place, Diagnostics& findings);
// V5xx: names, tables, the form of calls and results.
void check_graphs(const Program& program, const ProgramPlace& place, Diagnostics& findings);
// V5xx: nested graphs against their callers.
void check_higher_order(const Program& program, const ProgramPlace& place, Diagnostics& findings);
void check_metadata(const Program& program, const ProgramPlace& place, Diagnostics& findings);
void check_symbols(const Program& program, const ProgramPlace& place, Diagnostics& findings);
void check_guards(const Program& program, const ProgramPlace& place, Diagnostics& findings);
// V535 and V536: which targets the program's dialect allows.
void check_dialect(const Program& program, const ProgramPlace& place, Diagnostics& findings);
// V4xx.
void check_signature(const Program& program, const ProgramPlace& place, Diagnostics& findings);

}  // namespace pt2

#endif  // PT2_ANALYSIS_PROGRAM_CHECKS_H
