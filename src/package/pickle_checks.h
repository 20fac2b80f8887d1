// The rules of pickles (V108, V109), which report code that PyTorch would run when it loads the
// file.
#ifndef PT2_PACKAGE_PICKLE_CHECKS_H
#define PT2_PACKAGE_PICKLE_CHECKS_H

#include <span>
#include <string>
#include <vector>

#include "archive/pickle/pickle_code.h"
#include "pt2/package.h"

namespace pt2 {

void report_pickle_calls(std::span<const ForeignCall> calls, const std::string& place,
                         Diagnostics& findings);
// Checks every pickle of the archive that PyTorch loads, and every other record that looks like a
// pickle. `names`, if given, receives the names that they look up in modules outside PyTorch.
void check_pickles(const Archive& archive, Diagnostics& findings,
                   std::vector<std::string>* names = nullptr);
// Checks the pickles inside the program's JSON (2.1); `place` is the program's place.
void check_embedded_pickles(const Program& program, const std::string& place, const Limits& limits,
                            Diagnostics& findings);

}  // namespace pt2

#endif  // PT2_PACKAGE_PICKLE_CHECKS_H
