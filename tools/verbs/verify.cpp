#include "pt2/verify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>

#include "base/hash/sha256.h"
#include "base/printable.h"
#include "inspect/hazard.h"
#include "pt2/format/zip.h"
#include "pt2/ops/verify_operators.h"
#include "pt2/tools/scan.h"
#include "tools/files.h"
#include "tools/json_members.h"
#include "tools/source.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

constexpr Level kLevels[] = {Level::container, Level::schema, Level::graph, Level::full};
constexpr unsigned kMaxVerifying = 4;  // more threads do not read faster from memory
constexpr size_t kMaxPrinted = 20;     // for each rule: one cause often breaks a rule at every node

struct VerifyArguments {
  std::vector<std::string> files;
  bool quiet = false;
  bool strict = false;
  bool all = false;
  std::string level = std::string(level_name(Level::full));
  std::string sha256;
  Limits limits;
  bool json = false;
};

// The result for one file.
struct Verdict {
  std::string digest;    // with --sha256
  std::string expected;  // with --sha256; empty: SUMS does not name the file
  VerifiedFile file;     // empty if the digest differs: such a file is not read further
  bool has_other_digest() const { return !digest.empty() && digest != expected; }
};

constexpr size_t kDigits = 64;

std::string as_digest(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const bool is_digest =
      out.size() == kDigits && out.find_first_not_of("0123456789abcdef") == std::string::npos;
  return is_digest ? out : std::string();
}

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

// Returns how many names at the end of two paths are the same: 2 for "a/b/x.pt2" and "b/x.pt2".
size_t common_end(std::string_view a, std::string_view b) {
  size_t count = 0;
  while (!a.empty() && !b.empty() && base_name(a) == base_name(b)) {
    ++count;
    for (std::string_view* path : {&a, &b}) {
      const size_t slash = path->rfind('/');
      *path = path->substr(0, slash == path->npos ? 0 : slash);
    }
  }
  return count;
}

// Digests of files. A file has the digest whose path ends most like its own, because the paths may
// be relative to another folder. A digest without a path applies to every file.
class Sums {
 public:
  // Reads a digest, or a file with the lines of sha256sum.
  static Result<Sums> read(const std::string& text) {
    Sums sums;
    sums.only_ = as_digest(text);
    if (!sums.only_.empty()) return sums;
    const Result<Record> record = map_file(text);
    if (!record)
      return Error{
          ErrorCode::argument,
          fmt::format("--sha256: found '{}', expected 64 hexadecimal digits or a file that "
                      "sha256sum wrote ({})",
                      printable(text), record.error().message),
          ""};
    std::string_view rest = record->text();
    for (size_t number = 1; !rest.empty(); ++number) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      std::string_view line = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty()) continue;
      Named named = parse_line(line);
      if (named.digest.empty())
        return Error{ErrorCode::malformed,
                     "expected a SHA-256 of 64 hexadecimal digits and the name of a file",
                     fmt::format("{}:{}", text, number)};
      if (named.path.empty())
        sums.only_ = named.digest;
      else
        sums.by_name_.emplace(base_name(named.path), std::move(named));
    }
    return sums;
  }

  // Returns "" for a file that has none, or several that differ.
  std::string of(const std::string& file) const {
    std::string digest = only_;
    size_t most = 0;
    const auto [begin, end] = by_name_.equal_range(base_name(file));
    for (auto each = begin; each != end; ++each) {
      const Named& named = each->second;
      const size_t common = common_end(file, named.path);
      if (common > most)
        digest = named.digest;
      else if (common == most && digest != named.digest)
        digest.clear();
      most = std::max(most, common);
    }
    return digest;
  }

 private:
  struct Named {
    std::string path{};
    std::string digest{};
  };

  // Takes "DIGEST  NAME", "DIGEST *NAME" and, of sha256sum --tag and BSD's sha256, "SHA256 (NAME) =
  // DIGEST". Returns no digest for other lines.
  static Named parse_line(std::string_view line) {
    constexpr std::string_view kTag = "SHA256 (", kSign = ") = ";
    const size_t sign = line.rfind(kSign);
    if (line.starts_with(kTag) && sign != line.npos && sign >= kTag.size())
      return {.path = std::string(line.substr(kTag.size(), sign - kTag.size())),
              .digest = as_digest(line.substr(sign + kSign.size()))};
    Named named{.digest = as_digest(line.substr(0, kDigits))};
    line.remove_prefix(std::min(kDigits, line.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" *"), line.size()));
    named.path = line;
    return named;
  }

  std::string only_;
  std::multimap<std::string, Named> by_name_;
};

// Returns the level of a finding in the reports.
HazardLevel gravity_of(const Diagnostic& finding) {
  return finding.severity() == Severity::error ? HazardLevel::alarm : HazardLevel::warning;
}
HazardLevel gravity_of(const ScanFinding& finding) { return finding.hazard->level; }

size_t count(const VerifiedFile& file, HazardLevel gravity) {
  const auto has_it = [&](const auto& finding) { return gravity_of(finding) == gravity; };
  return static_cast<size_t>(std::ranges::count_if(file.findings.all(), has_it) +
                             std::ranges::count_if(file.hazards, has_it));
}

Level chosen_level(const VerifyArguments& options) {
  return *std::ranges::find(kLevels, options.level, level_name);
}

bool may_run_code(const Diagnostic& finding) {
  return finding.rule == Rule::code_in_pickle || finding.rule == Rule::unread_pickle;
}
// Operators that access files run nothing before the program is called.
bool may_run_code(const ScanFinding& finding) {
  return finding.hazard->level == HazardLevel::alarm &&
         finding.hazard != &hazard_info(Hazard::file_operator);
}

// Returns 1 for broken rules in a readable file. Of several codes the largest is the most specific:
// 3 damaged or malformed, 4 unsupported, 5 limit. A file that runs code gets 3, so that nobody
// takes it for a file of a newer release.
int findings_code(const VerifyArguments& options, const VerifiedFile& file) {
  const auto runs_code = [](const auto& finding) { return may_run_code(finding); };
  if (std::ranges::any_of(file.findings.all(), runs_code) ||
      std::ranges::any_of(file.hazards, runs_code))
    return exit_code(ErrorCode::malformed);
  int code = count(file, HazardLevel::alarm) > 0 ? kDifference : kOk;
  for (const Diagnostic& finding : file.findings.all())
    if (finding.severity() == Severity::error && finding.code != ErrorCode::invalid)
      code = std::max(code, exit_code(finding.code));
  if (options.strict && count(file, HazardLevel::warning) > 0)
    code = std::max<int>(code, kDifference);
  return code;
}

int verdict_code(const VerifyArguments& options, const Verdict& verdict) {
  if (verdict.has_other_digest()) return kDifference;
  return findings_code(options, verdict.file);
}

std::string digest_text(const Verdict& verdict) {
  if (verdict.expected.empty())
    return "--sha256 gives no digest for a file of this name; not opened";
  return fmt::format("found SHA-256 {}, expected {}; not opened", verdict.digest, verdict.expected);
}

std::string summary(const VerifyArguments& options, const VerifiedFile& file) {
  const auto counted = [&](HazardLevel gravity) {
    const size_t number = count(file, gravity);
    return fmt::format("{} {}{}", number, severity_name(gravity), number == 1 ? "" : "s");
  };
  const bool has_errors = findings_code(options, file) != kOk;
  std::string out = has_errors ? counted(HazardLevel::alarm) : "ok";
  if (has_errors || count(file, HazardLevel::warning) > 0)
    out += ", " + counted(HazardLevel::warning);
  if (count(file, HazardLevel::note) > 0) out += ", " + counted(HazardLevel::note);
  return out;
}

void write_finding(JsonWriter& json, std::string_view rule, std::string_view name,
                   const auto& finding) {
  json.begin_object();
  write_text(json, "rule", rule);
  write_text(json, "name", name);
  write_text(json, "severity", severity_name(gravity_of(finding)));
  write_text(json, "where", shown_place(finding.where));
  write_text(json, "text", finding.text);
  if (finding.node) {
    write_text(json, "node", finding.node.name);
    write_text(json, "target", finding.node.target);
    write_text(json, "module_path", finding.node.module_path);
    write_text(json, "source_line", finding.node.source_line);
  }
  json.end_object();
}

void write_report(JsonWriter& json, const VerifyArguments& options, const std::string& file,
                  const Verdict& verdict) {
  json.begin_object();
  write_text(json, "file", file);
  write_flag(json, "ok", verdict_code(options, verdict) == kOk);
  if (!verdict.digest.empty()) write_text(json, "sha256", verdict.digest);
  if (verdict.has_other_digest()) write_text(json, "expected_sha256", verdict.expected);
  json.key("findings");
  json.begin_array();
  for (const Diagnostic& finding : verdict.file.findings.all())
    write_finding(json, rule_code(finding.rule), rule_info(finding.rule).name, finding);
  for (const ScanFinding& finding : verdict.file.hazards)
    write_finding(json, finding.hazard->code(), finding.hazard->name(), finding);
  json.end_array();
  json.end_object();
}

void print_verdict(const VerifyArguments& options, const std::string& file, const Verdict& verdict,
                   Environment& environment) {
  if (options.quiet && verdict_code(options, verdict) == kOk) return;
  std::map<Rule, size_t> found;
  for (const Diagnostic& finding : verdict.file.findings.all()) {
    if (++found[finding.rule] > kMaxPrinted && !options.all) continue;
    Diagnostic shown = finding;
    shown.where = shown_place(finding.where);
    print(environment.out, shown.line() + "\n");
    if (const std::string remedy = limit_remedy(finding.code, finding.text); !remedy.empty())
      print(environment.out, fmt::format("    to do: {}\n", remedy));
  }
  for (const auto& [rule, times] : found)
    if (times > kMaxPrinted && !options.all)
      print(environment.out, fmt::format("{}: {} more of these; --all prints them\n",
                                         rule_code(rule), times - kMaxPrinted));
  for (const ScanFinding& finding : verdict.file.hazards)
    print(environment.out,
          fmt::format("{} {}: {}\n", finding.hazard->code(), severity_name(gravity_of(finding)),
                      finding.place_and_text()));
  const bool is_bad = verdict_code(options, verdict) != kOk;
  const std::string text =
      verdict.has_other_digest() ? digest_text(verdict) : summary(options, verdict.file);
  print(environment.out,
        fmt::format("{}: {}\n", printable_line(shown_place(file)),
                    coloured(environment, is_bad ? Colour::red : Colour::green, text)));
}

Verdict look_at(const VerifyArguments& options, const Sums* sums, const std::string& file,
                unsigned threads) {
  Verdict verdict;
  if (sums != nullptr) {
    const auto record = map_file(file);
    if (record) {
      Sha256 hash;
      hash.add(record->bytes);
      verdict.digest = hash.hex();
    }
    verdict.expected = sums->of(file);
    if (verdict.has_other_digest()) return verdict;
  }
  const VerifyOptions settings{
      .limits = options.limits, .threads = threads, .progress = {}, .operators = check_operators};
  verdict.file = verify_with_hazards(input_path(file), chosen_level(options), settings);
  for (ScanFinding& hazard : verdict.file.hazards) hazard.where = shown_place(hazard.where);
  return verdict;
}

Result<std::optional<Sums>> read_sums(const VerifyArguments& options) {
  if (options.sha256.empty()) return std::optional<Sums>();
  for (const std::string& file : options.files) {
    std::error_code unknown;
    // A pipe would be empty when the file is opened.
    if (file == "-" || std::filesystem::is_fifo(file, unknown))
      return usage_error("--sha256 compares files, not standard input or a pipe");
  }
  PT2_TRY(Sums sums, Sums::read(options.sha256));
  return std::optional(std::move(sums));
}

Result<int> verify_files(const VerifyArguments& options, Environment& environment) {
  PT2_TRY(const std::vector<std::string> files,
          list_files(options.files, kProgramEndings, environment));
  PT2_TRY(const std::optional<Sums> sums, read_sums(options));
  // Parallelizes either over files, or over the checksums of a single file.
  const unsigned threads =
      files.size() > 1 ? 1 : std::clamp(std::thread::hardware_concurrency(), 1u, kMaxVerifying);
  std::vector<Verdict> all(files.size());
  for_each_file(files.size(), environment, [&](size_t i) {
    all[i] = look_at(options, sums ? &*sums : nullptr, files[i], threads);
  });
  int code = kOk;
  size_t bad = 0;
  JsonWriter json;
  json.begin_object();
  json.key("files");
  json.begin_array();
  for (size_t i = 0; i < files.size(); ++i) {
    const int own = verdict_code(options, all[i]);
    code = std::max(code, own);
    bad += own != kOk;
    if (options.json)
      write_report(json, options, files[i], all[i]);
    else
      print_verdict(options, files[i], all[i], environment);
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
  auto options = std::make_shared<VerifyArguments>();
  line.add_option("FILE", options->files, "files and folders; - is standard input").required();
  line.add_flag("-q,--quiet", options->quiet, "print only files that do not pass");
  line.add_flag("--strict", options->strict, "warnings count as errors");
  line.add_flag("--all", options->all,
                fmt::format("print every finding, not the first {} of a rule", kMaxPrinted));
  std::vector<std::string> names;
  for (Level level : kLevels) names.emplace_back(level_name(level));
  line.add_option("--level", options->level,
                  fmt::format("how deep: {},\neach with those before it; full if not given",
                              fmt::join(names, ", ")))
      .type_name("LEVEL")
      .one_of(names);
  line.add_option("--sha256", options->sha256,
                  "the SHA-256 that the file must have, or a file of lines as\n"
                  "sha256sum writes them; a file with another SHA-256 is not opened")
      .type_name("SUM|FILE");
  add_limit_option(line, options->limits);
  add_json_option(line, options->json);
  return [options](Environment& environment) { return verify_files(*options, environment); };
}

}  // namespace pt2::tools
