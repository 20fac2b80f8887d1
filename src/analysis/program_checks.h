// The checks of one program, level by level.
#pragma once

#include <string>
#include <vector>

#include "package/payload_readers.h"
#include "pt2/diagnostics.h"
#include "pt2/program.h"

namespace pt2 {

// `place` is put in front of every `where`: "model.pt2!models/model.json:".
void check_payloads(const Program& program, const Payloads& payloads, const std::string& place,
                    Diagnostics& findings);
void check_signature(const Program& program, const std::string& place, Diagnostics& findings);

}  // namespace pt2
