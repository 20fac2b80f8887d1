// Scans a file for hazards: content that can harm a user who opens the file, with PyTorch or with
// other software. The scan runs nothing of the file. Most hazards are violations of rules of
// `verify` (hazards.def). Others break no rule of the format, such as machine code in the archive.
//
//   pt2::ScanReport report = pt2::scan("model.pt2");
//   if (report.worst() == pt2::HazardLevel::alarm) refuse();
#ifndef PT2_TOOLS_SCAN_H
#define PT2_TOOLS_SCAN_H

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/diagnostics.h"
#include "pt2/error.h"
#include "pt2/format/archive.h"
#include "pt2/limits.h"
#include "pt2/verify.h"

namespace pt2 {

// In ascending order of danger.
enum class HazardLevel : uint8_t { note, warning, alarm };
std::string_view hazard_level_name(HazardLevel level);

struct HazardInfo {
  std::optional<Rule> rule;  // the rule of verify, if any; it has name, title and why
  uint16_t number = 0;       // the number of a hazard without a rule
  HazardLevel level = HazardLevel::note;
  std::string_view remedy;  // advice for the user
  std::string_view own_name, own_title, own_why;

  std::string code() const;  // "V108" for a rule of verify, else "S004"
  std::string_view name() const { return rule ? rule_info(*rule).name : own_name; }
  // Return the condition that should hold, and the consequence if it does not.
  std::string_view title() const { return rule ? rule_info(*rule).title : own_title; }
  std::string_view why() const { return rule ? rule_info(*rule).why : own_why; }
};
// Returns all hazards in the order of hazards.def.
std::span<const HazardInfo> hazards();
// Finds a hazard by code or name; null if there is none.
const HazardInfo* find_hazard(std::string_view code_or_name);

struct ScanFinding {
  const HazardInfo* hazard = nullptr;
  std::string where{};
  std::string text{};
  NodePlace node{};

  // Returns "model.pt2!models/model.json:.graph…: the program calls …", as one line of bounded
  // length.
  std::string place_and_text() const;
};

struct ScanReport {
  std::string file{};
  std::vector<ScanFinding> findings{};
  // The reason why the scan could not read the file, or not all of it.
  std::optional<Error> unread{};

  // Returns the highest level of the findings; nothing if there are none.
  std::optional<HazardLevel> worst() const;
};

struct ScanOptions {
  Limits limits{};
  unsigned threads = 1;  // for checksums
};

// Scans a file. Also takes files that are no exported programs: torch.save zips, TorchScript,
// compiled packages. Reads every byte once, for the checksums. Linear in the file.
ScanReport scan(const std::string& path, const ScanOptions& options = {});

// Finds hazards that break no rule of verify, but let the file run code, reach files or import
// modules when PyTorch opens it or calls its programs: S012 to S014. `verified` has the findings of
// verify for the file. For programs that verify could not read, the result also has violations of
// its rules. Linear in pickles and programs.
std::vector<ScanFinding> find_code_hazards(const Archive& archive,
                                           const Diagnostics& verified = {});

struct VerifiedFile {
  Diagnostics findings{};
  std::vector<ScanFinding> hazards{};  // at level full
};
// Runs `verify` and `find_code_hazards` on a file, which may be a pipe.
VerifiedFile verify_with_hazards(const std::string& path, Level level = Level::full,
                                 const VerifyOptions& options = {});

// Returns the reports as SARIF 2.1.0, which GitHub, GitLab and editors display.
std::string scan_sarif(std::span<const ScanReport> reports);

}  // namespace pt2

#endif  // PT2_TOOLS_SCAN_H
