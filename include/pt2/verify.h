// Is this file intact, and will its program mean the same everywhere? Every fault that can be
// found, not the first one, each under a numbered rule (rules.def).
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
  // Level full's checks of operators, which need their table: pt2::check_operators of
  // verify_operators.h. Without it they are left out.
  std::function<void(const Program& program, const std::string& place, Diagnostics& findings)>
      operators = {};
};

// Checks up to `level`. A fault ends the levels that build on what it spoils and no others: a wrong
// checksum of a weight does not hide a wrong signature. Findings are in the order of the levels.
// Linear in the file.
Diagnostics verify(const std::string& path, Level level = Level::full,
                   const VerifyOptions& options = {});
// As `verify`, over bytes in memory; `name` is used in messages.
Diagnostics verify_bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                         std::string name, Level level = Level::full,
                         const VerifyOptions& options = {});
// Checks the levels graph and full of a program that was built or edited, without its payloads. No
// findings: PyTorch will take the program once it is written. Places begin with `name`. Linear in
// the program.
Diagnostics verify_program(const Program& program, std::string_view name = "program",
                           Level level = Level::full, const VerifyOptions& options = {});

// What PyTorch would run, or cannot be trusted not to run, when it loads this file or calls its
// program: pickles that call functions (V108) or cannot be followed (V109), guards that are no
// conditions (V532), nodes that call Python functions (V535). Empty for what
// torch.export.save writes of tensors. Linear in pickles and programs; reads no weights.
Diagnostics find_foreign_code(const Package& package);

}  // namespace pt2

#endif  // PT2_VERIFY_H
