// Finds texts and pickles that make PyTorch run code, access files or import modules, without
// breaking a rule of verify. Every verb that reports such hazards uses this enumeration.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "archive/layout.h"
#include "base/mapped_file.h"
#include "inspect/hazard.h"
#include "inspect/program_texts.h"
#include "inspect/verified_archive.h"
#include "package/pickle_checks.h"
#include "pt2/format/archive.h"
#include "pt2/tools/scan.h"
#include "pt2/verify.h"

namespace pt2 {
namespace {

class CodeHazards {
 public:
  CodeHazards(const Archive& archive, const Diagnostics& verified) : archive_(archive) {
    for (const Diagnostic& finding : verified.all()) {
      was_refused_ |= finding.rule == Rule::container_opens;
      was_read_ &= !stops_reading(finding) || finding.rule == Rule::payload_reads;
    }
  }

  std::vector<ScanFinding> run() {
    if (archive_.era() == Era::document) return {};  // PyTorch does not open bare JSON
    for (const Entry& entry : archive_.zip().entries())
      if (archive_.role(entry).role == Role::program ||
          model_loaded_from(archive_.relative_name(entry)))
        look_into_texts(entry);
    look_into_pickles();
    return std::move(findings_);
  }

 private:
  void look_into_texts(const Entry& entry) {
    const auto record = archive_.zip().read(entry, false);
    if (!record) return;  // V103
    const bool was_verified = was_read_ && archive_.role(entry).role == Role::program;
    for (TextFinding& found : find_hostile_texts(record->text(), was_verified)) {
      const HazardInfo* hazard = std::holds_alternative<Rule>(found.what)
                                     ? hazard_of(std::get<Rule>(found.what))
                                     : &hazard_info(std::get<Hazard>(found.what));
      findings_.push_back({hazard,
                           fmt::format("{}!{}:{}", archive_.name(), entry.name, found.where),
                           std::move(found.text),
                           {}});
    }
  }

  void look_into_pickles() {
    Diagnostics broken;
    std::vector<std::string> names;
    check_pickles(archive_, broken, &names);
    if (was_refused_)  // otherwise verify reports it
      for (const Diagnostic& finding : broken.all())
        findings_.push_back({hazard_of(finding.rule), finding.where, finding.text, {}});
    std::set<std::string_view> packages;
    for (const std::string& name : names) {
      const std::string_view package = package_of(name);
      // Python 2's name of builtins, and the prefix of TorchScript classes, which are in no module.
      if (package == "__builtin__" || package == "__torch__" || needs_no_note(package)) continue;
      if (packages.insert(package).second)
        findings_.push_back({&hazard_info(Hazard::module_import),
                             archive_.name(),
                             fmt::format("PyTorch imports {} for a pickle", name),
                             {}});
    }
  }

  const Archive& archive_;
  bool was_refused_ = false;
  bool was_read_ = true;
  std::vector<ScanFinding> findings_;
};

}  // namespace

std::vector<ScanFinding> find_code_hazards(const Archive& archive, const Diagnostics& verified) {
  return CodeHazards(archive, verified).run();
}

VerifiedArchive verify_archive(const std::string& path, Level level, const VerifyOptions& options) {
  std::error_code unknown;
  // A path is needed to find the data files beside a draft.
  if (std::filesystem::is_regular_file(path, unknown))
    return {verify(path, level, options), Archive::open_container(path, options.limits)};
  auto mapped = MappedFile::open(path, options.limits.max_stream_bytes);
  if (!mapped) {
    Diagnostics findings;
    findings.add(Rule::container_opens, mapped.error());
    return {std::move(findings), std::move(mapped).error()};
  }
  const std::shared_ptr<const MappedFile> file = *std::move(mapped);
  return {verify_bytes(file->bytes(), file, path, level, options),
          Archive::open_container_bytes(file->bytes(), file, path, options.limits)};
}

VerifiedFile verify_with_hazards(const std::string& path, Level level,
                                 const VerifyOptions& options) {
  VerifiedArchive file = verify_archive(path, level, options);
  VerifiedFile out{.findings = std::move(file.findings)};
  if (file.archive && level >= Level::full)
    out.hazards = find_code_hazards(*file.archive, out.findings);
  return out;
}

}  // namespace pt2
