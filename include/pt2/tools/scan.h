// What could harm whoever opens this file, with PyTorch or with anything else? Nothing of the file
// is run. Most of it are rules of `verify` seen from this side (hazards.def); the rest is what
// breaks no rule of the format, as machine code in the archive.
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

// Rising.
enum class HazardLevel : uint8_t { note, warning, alarm };
std::string_view hazard_level_name(HazardLevel level);

struct HazardInfo {
  std::optional<Rule> rule;  // of verify, which then has name, title and why
  uint16_t number = 0;       // of what breaks none
  HazardLevel level = HazardLevel::note;
  std::string_view remedy;  // what to do
  std::string_view own_name, own_title, own_why;

  std::string code() const;  // "V108", a rule of verify, or "S004"
  std::string_view name() const { return rule ? rule_info(*rule).name : own_name; }
  // What should hold, and what happens otherwise.
  std::string_view title() const { return rule ? rule_info(*rule).title : own_title; }
  std::string_view why() const { return rule ? rule_info(*rule).why : own_why; }
};
// In the order of hazards.def.
std::span<const HazardInfo> hazards();
// By code or name; null when there is none.
const HazardInfo* find_hazard(std::string_view code_or_name);

struct ScanFinding {
  const HazardInfo* hazard = nullptr;
  std::string where{};
  std::string text{};
  NodePlace node{};

  // "model.pt2!models/model.json:.graph…: the program calls …", on one line of bounded length.
  std::string place_and_text() const;
};

struct ScanReport {
  std::string file{};
  std::vector<ScanFinding> findings{};
  // Why nothing, or not everything, could be looked at.
  std::optional<Error> unread{};

  std::optional<HazardLevel> worst() const;
};

struct ScanOptions {
  Limits limits{};
  unsigned threads = 1;  // for checksums
};

// Reads every byte once, for the checksums. Also of files that are no exported programs: zips of
// torch.save, TorchScript, compiled packages. Linear in the file.
ScanReport scan(const std::string& path, const ScanOptions& options = {});

// What breaks no rule of verify and yet lets the file run code, reach files or import modules when
// PyTorch opens it or calls its programs: S012 to S014. `verified`: what verify said of the file;
// of what it could not read, the broken rules are told, too. Linear in pickles and programs.
std::vector<ScanFinding> find_code_hazards(const Archive& archive,
                                           const Diagnostics& verified = {});

struct VerifiedFile {
  Diagnostics findings{};
  std::vector<ScanFinding> hazards{};  // at level full
};
// `verify` and `find_code_hazards` of a file that may be a pipe.
VerifiedFile verify_with_hazards(const std::string& path, Level level = Level::full,
                                 const VerifyOptions& options = {});

// The reports as SARIF 2.1.0, which GitHub, GitLab and editors show.
std::string scan_sarif(std::span<const ScanReport> reports);

}  // namespace pt2

#endif  // PT2_TOOLS_SCAN_H
