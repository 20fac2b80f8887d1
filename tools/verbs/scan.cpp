#include "pt2/tools/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/printable.h"
#include "tools/files.h"
#include "tools/json_members.h"
#include "tools/source.h"
#include "tools/table.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

struct ScanArguments {
  std::vector<std::string> files;
  std::string sarif;
  bool strict = false;
  bool quiet = false;
  bool json = false;
  Limits limits;
};

// Endings of files that may hold code for PyTorch.
constexpr std::string_view kEndings[] = {".pt2", ".pt", ".pth", ".pkl.zip"};

HazardLevel bound(const ScanArguments& options) {
  return options.strict ? HazardLevel::warning : HazardLevel::alarm;
}

// The least level that --quiet prints. Why a file was not read is a warning.
HazardLevel least_shown(const ScanArguments& options, const ScanReport& report) {
  if (!options.quiet) return HazardLevel::note;
  return report.unread ? HazardLevel::warning : bound(options);
}

// Returns an error's exit code for an unread file, which is neither good nor bad.
int report_code(const ScanArguments& options, const ScanReport& report) {
  const auto worst = report.worst();
  if (worst == HazardLevel::alarm) return kDifference;
  if (report.unread) return exit_code(report.unread->code);
  return worst && *worst >= bound(options) ? kDifference : kOk;
}

Colour colour_of(HazardLevel level) {
  switch (level) {
    case HazardLevel::note:
      return Colour::green;
    case HazardLevel::warning:
      return Colour::yellow;
    case HazardLevel::alarm:
      return Colour::red;
  }
  return Colour::bold;
}

void print_finding(const ScanFinding& finding, Environment& environment) {
  const HazardInfo& hazard = *finding.hazard;
  print(environment.out,
        fmt::format("{} {}: {}\n    to do: {}\n", hazard.code(),
                    coloured(environment, colour_of(hazard.level), hazard_level_name(hazard.level)),
                    finding.place_and_text(), hazard.remedy));
}

std::string verdict(const ScanReport& report) {
  std::map<HazardLevel, size_t, std::greater<>> counts;
  for (const ScanFinding& finding : report.findings) ++counts[finding.hazard->level];
  std::string out;
  for (const auto& [level, count] : counts)
    out += (out.empty() ? "" : ", ") + counted(count, hazard_level_name(level));
  if (out.empty()) out = "nothing found";
  return report.unread ? out + "; not all of it could be read" : out;
}

void print_report(const ScanArguments& options, const ScanReport& report,
                  Environment& environment) {
  for (const ScanFinding& finding : report.findings)
    if (finding.hazard->level >= least_shown(options, report)) print_finding(finding, environment);
  const bool shown = !options.quiet || report_code(options, report) != kOk;
  if (shown)
    print(environment.out,
          fmt::format("{}: {}\n", printable(shown_place(report.file)), verdict(report)));
}

void write_report(JsonWriter& json, const ScanArguments& options, const ScanReport& report) {
  write_text(json, "file", report.file);
  write_flag(json, "ok", report_code(options, report) == kOk);
  write_flag(json, "read", !report.unread);
  write_objects(json, "findings", report.findings, [&](const ScanFinding& finding) {
    write_text(json, "rule", finding.hazard->code());
    write_text(json, "name", finding.hazard->name());
    write_text(json, "level", hazard_level_name(finding.hazard->level));
    write_text(json, "where", finding.where);
    write_text(json, "text", finding.text);
    write_text(json, "remedy", finding.hazard->remedy);
    if (!finding.node) return;
    write_text(json, "node", finding.node.name);
    write_text(json, "target", finding.node.target);
    write_text(json, "source_line", finding.node.source_line);
  });
}

void print_reports(const ScanArguments& options, std::span<const ScanReport> reports,
                   Environment& environment) {
  if (options.json) {
    print(environment.out, json_object([&](JsonWriter& json) {
            write_objects(json, "files", reports,
                          [&](const ScanReport& each) { write_report(json, options, each); });
          }));
    return;
  }
  for (const ScanReport& report : reports) print_report(options, report, environment);
  if (reports.size() == 1) return;
  const auto bad = std::ranges::count_if(
      reports, [&](const ScanReport& each) { return report_code(options, each) != kOk; });
  print(environment.out, fmt::format("{} files, {} did not pass\n", reports.size(), bad));
}

Result<int> scan_files(const ScanArguments& options, Environment& environment) {
  PT2_TRY(const std::vector<std::string> files, list_files(options.files, kEndings, environment));
  std::vector<ScanReport> reports(files.size());
  for_each_file(files.size(), environment, [&](size_t i) {
    reports[i] = scan(input_path(files[i]), {.limits = options.limits, .threads = 1});
    reports[i].file = files[i];
    for (ScanFinding& finding : reports[i].findings) finding.where = shown_place(finding.where);
  });
  if (!options.sarif.empty()) {
    const std::string text = scan_sarif(reports);
    PT2_TRY_VOID(write_file(options.sarif, std::as_bytes(std::span(text)), files));
  }
  print_reports(options, reports, environment);
  int code = kOk;
  for (const ScanReport& report : reports) {
    const int own = report_code(options, report);
    if (own == kDifference) return own;
    code = std::max(code, own);
  }
  return code;
}

}  // namespace

Action setup_scan(CommandLine& line) {
  auto options = std::make_shared<ScanArguments>();
  line.add_option("FILE", options->files,
                  "files and folders (of a folder all .pt2, .pt, .pth and .pkl.zip\n"
                  "files); - is standard input")
      .required();
  line.add_flag("--strict", options->strict, "exit 1 for warnings, too");
  line.add_option("--sarif", options->sarif,
                  "also write this file, for code scanning (SARIF 2.1.0)")
      .type_name("FILE");
  line.add_flag("-q,--quiet", options->quiet, "print only files that do not pass, and why");
  add_limit_option(line, options->limits);
  add_json_option(line, options->json);
  return [options](Environment& environment) { return scan_files(*options, environment); };
}

}  // namespace pt2::tools
