// Verifies files: is a file intact, and do all readers give its program the same meaning?
// Verification reports all faults, not only the first. Each belongs to a numbered rule (rules.def).
#ifndef PT2_VERIFY_H
#define PT2_VERIFY_H

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "pt2/diagnostics.h"
#include "pt2/format/zip.h"
#include "pt2/ir/program.h"
#include "pt2/limits.h"

namespace pt2 {

class Package;

struct VerifyOptions {
  Limits limits = {};
  unsigned threads = 1;    // for the checksums
  Progress progress = {};  // of the checksums, which read every byte of the file
  // The operator checks of level `full`: pt2::check_operators of verify_operators.h. It is an
  // option because it needs the table of operators. If empty, these checks are skipped.
  std::function<void(const Program& program, const std::string& place, Diagnostics& findings)>
      operators = {};
};

// Checks a file up to `level`. A fault ends only the levels that depend on the damaged part: a
// wrong checksum of a weight does not hide a wrong signature. Returns the findings in the order of
// the levels. Linear in the file.
Diagnostics verify(const std::string& path, Level level = Level::full,
                   const VerifyOptions& options = {});
// As `verify`, for bytes in memory. Messages use `name`.
Diagnostics verify_bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                         std::string name, Level level = Level::full,
                         const VerifyOptions& options = {});
// Checks a built or edited program at the levels graph and full, without its payloads. If there are
// no findings, PyTorch accepts the program after it is written. Places begin with `name`. Linear in
// the program.
Diagnostics verify_program(const Program& program, std::string_view name = "program",
                           Level level = Level::full, const VerifyOptions& options = {});

// Finds code that PyTorch runs, or may run, when it loads this file or calls its program: pickles
// that call functions (V108) or cannot be followed (V109), guards that are no conditions (V532),
// nodes that call Python functions (V535). Empty for files that torch.export.save writes with only
// tensors. Linear in pickles and programs; reads no weights.
Diagnostics find_foreign_code(const Package& package);

}  // namespace pt2

#endif  // PT2_VERIFY_H
