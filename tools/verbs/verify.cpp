#include "pt2/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "pt2/ops/verify_operators.h"
#include "tools/files.h"
#include "tools/json_members.h"
#include "tools/source.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

constexpr Level kLevels[] = {Level::container, Level::schema, Level::graph, Level::full};
constexpr unsigned kMaxThreads = 4;  // more do not read faster from memory

struct Options {
  std::vector<std::string> files;
  bool quiet = false;
  bool strict = false;
  std::string level = std::string(level_name(Level::full));
  Limits limits;
  bool json = false;
};

std::string_view severity_name(Severity severity) {
  return severity == Severity::error ? "error" : "warning";
}

Level chosen_level(const Options& options) {
  return *std::ranges::find(kLevels, options.level, level_name);
}

bool may_run_code(const Diagnostic& finding) {
  return finding.rule == Rule::code_in_pickle || finding.rule == Rule::unread_pickle;
}

// 1 where rules are broken by a file that can be read. Of several codes the largest says most: 3
// damaged or malformed, 4 unsupported, 5 limit; but nobody shall take for a newer file one that
// runs code.
int findings_code(const Options& options, const Diagnostics& findings) {
  if (std::ranges::any_of(findings.all(), may_run_code)) return exit_code(ErrorCode::malformed);
  int code = kOk;
  for (const Diagnostic& finding : findings.all())
    if (finding.severity() == Severity::error)
      code = std::max(code,
                      finding.code == ErrorCode::invalid ? kDifference : exit_code(finding.code));
  if (options.strict && !findings.empty()) code = std::max<int>(code, kDifference);
  return code;
}

std::string summary(const Diagnostics& findings) {
  const auto count = [&](Severity severity) {
    const size_t number = findings.count(severity);
    return fmt::format("{} {}{}", number, severity_name(severity), number == 1 ? "" : "s");
  };
  if (findings.empty()) return "ok";
  if (!findings.has_errors()) return "ok, " + count(Severity::warning);
  return count(Severity::error) + ", " + count(Severity::warning);
}

void write_report(JsonWriter& json, const std::string& file, const Diagnostics& findings) {
  json.begin_object();
  write_text(json, "file", file);
  write_flag(json, "ok", !findings.has_errors());
  write_objects(json, "findings", findings.all(), [&](const Diagnostic& finding) {
    write_text(json, "rule", rule_code(finding.rule));
    write_text(json, "name", rule_info(finding.rule).name);
    write_text(json, "severity", severity_name(finding.severity()));
    write_text(json, "where", finding.where);
    write_text(json, "text", finding.text);
    if (!finding.node) return;
    write_text(json, "node", finding.node.name);
    write_text(json, "target", finding.node.target);
    write_text(json, "module_path", finding.node.module_path);
    write_text(json, "source_line", finding.node.source_line);
  });
  json.end_object();
}

void print_findings(const Options& options, const std::string& file, const Diagnostics& findings,
                    Environment& environment) {
  if (options.quiet && findings_code(options, findings) == kOk) return;
  for (const Diagnostic& finding : findings.all()) print(environment.out, finding.line() + "\n");
  const Colour colour = findings.has_errors() ? Colour::red : Colour::green;
  print(environment.out,
        fmt::format("{}: {}\n", file, coloured(environment, colour, summary(findings))));
}

Result<int> verify_files(const Options& options, Environment& environment) {
  PT2_TRY(const std::vector<std::string> files,
          list_files(options.files, kProgramEndings, environment));
  // Either the files are done side by side, or the checksums of one.
  const unsigned threads =
      files.size() > 1 ? 1 : std::clamp(std::thread::hardware_concurrency(), 1u, kMaxThreads);
  std::vector<Diagnostics> all(files.size());
  for_each_file(files.size(), environment, [&](size_t i) {
    const VerifyOptions settings{
        .limits = options.limits, .threads = threads, .progress = {}, .operators = check_operators};
    all[i] = verify(input_path(files[i]), chosen_level(options), settings);
  });
  int code = kOk;
  size_t bad = 0;
  JsonWriter json;
  json.begin_object();
  json.key("files");
  json.begin_array();
  for (size_t i = 0; i < files.size(); ++i) {
    const int own = findings_code(options, all[i]);
    code = std::max(code, own);
    bad += own != kOk;
    if (options.json)
      write_report(json, files[i], all[i]);
    else
      print_findings(options, files[i], all[i], environment);
  }
  json.end_array();
  json.end_object();
  if (options.json)
    print(environment.out, json.text() + "\n");
  else if (files.size() > 1)
    print(environment.out, fmt::format("{} files, {} with errors\n", files.size(), bad));
  return code;
}

}  // namespace

Action setup_verify(CommandLine& line) {
  auto options = std::make_shared<Options>();
  line.add_option("FILE", options->files, "files and folders; - is standard input").required();
  line.add_flag("-q,--quiet", options->quiet, "print files with errors alone");
  line.add_flag("--strict", options->strict, "warnings count, too");
  std::vector<std::string> names;
  for (Level level : kLevels) names.emplace_back(level_name(level));
  line.add_option("--level", options->level,
                  fmt::format("how deep: {},\neach with those before it; full if not given",
                              fmt::join(names, ", ")))
      .type_name("LEVEL")
      .one_of(names);
  add_limit_option(line, options->limits);
  add_json_option(line, options->json);
  return [options](Environment& environment) { return verify_files(*options, environment); };
}

}  // namespace pt2::tools
