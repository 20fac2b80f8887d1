// The steps of opening a package, one by one, for verify, which goes on where Package stops.
#pragma once

#include <string>
#include <string_view>

#include "package/payload_readers.h"
#include "pt2/package.h"
#include "pt2/schema.h"

namespace pt2 {

// The program's JSON decoded; `where` of errors and warnings is "file!record:.path".
Result<schema::ExportedProgram> read_schema(const Archive& archive, std::string_view model,
                                            Diagnostics& warnings);
// The same as a Program; the place of an error likewise. Warns of unknown dialects (V207). Broken
// rules of the graph are added to `faults`, with their place.
Result<Program> read_program(const Archive& archive, std::string_view model,
                             schema::ExportedProgram source, Diagnostics& warnings,
                             Diagnostics& faults);
// The first of severity error; there must be one.
Error first_error(const Diagnostics& issues);
Result<SampleInputs> read_sample_inputs(const Archive& archive, std::string_view model,
                                        Diagnostics& warnings);

}  // namespace pt2
