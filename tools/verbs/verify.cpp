#include "pt2/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "pt2/verify_operators.h"
#include "tools/json_members.h"
#include "tools/source.h"
#include "tools/table.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

constexpr Level kLevels[] = {Level::container, Level::schema, Level::graph, Level::full};
constexpr unsigned kMaxThreads = 4;  // more do not read faster from memory

struct Options {
  std::vector<std::string> files;
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
int findings_code(const Diagnostics& findings) {
  if (std::ranges::any_of(findings.all(), may_run_code)) return exit_code(ErrorCode::malformed);
  int code = kOk;
  for (const Diagnostic& finding : findings.all())
    if (finding.severity() == Severity::error)
      code = std::max(code,
                      finding.code == ErrorCode::invalid ? kDifference : exit_code(finding.code));
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

void print_findings(const std::string& file, const Diagnostics& findings,
                    Environment& environment) {
  for (const Diagnostic& finding : findings.all()) print(environment.out, finding.line() + "\n");
  const Colour colour = findings.has_errors() ? Colour::red : Colour::green;
  print(environment.out,
        fmt::format("{}: {}\n", file, coloured(environment, colour, summary(findings))));
}

Result<int> verify_files(const Options& options, Environment& environment) {
  int code = kOk;
  JsonWriter json;
  json.begin_object();
  json.key("files");
  json.begin_array();
  for (const std::string& file : options.files) {
    const VerifyOptions settings{
        .limits = options.limits,
        .threads = std::clamp(std::thread::hardware_concurrency(), 1u, kMaxThreads),
        .progress = {},
        .operators = check_operators};
    const Diagnostics findings = verify(input_path(file), chosen_level(options), settings);
    code = std::max(code, findings_code(findings));
    if (options.json)
      write_report(json, file, findings);
    else
      print_findings(file, findings, environment);
  }
  json.end_array();
  json.end_object();
  if (options.json) print(environment.out, json.text() + "\n");
  return code;
}

std::string rules_json(std::span<const RuleInfo> some) {
  return json_object([&](JsonWriter& json) {
    write_objects(json, "rules", some, [&](const RuleInfo& rule) {
      write_text(json, "rule", rule_code(rule.rule));
      write_text(json, "name", rule.name);
      write_text(json, "severity", severity_name(rule.severity));
      write_text(json, "level", level_name(rule.level));
      write_text(json, "title", rule.title);
      write_text(json, "why", rule.why);
      write_text(json, "source", rule.source);
      write_text(json, "example", rule.example);
    });
  });
}

std::string rule_text(const RuleInfo& rule) {
  return fmt::format(
      "{} {} ({}, level {})\n\nwhat must hold: {}\nwhy: {}\nin PyTorch: {}\nexample: {}\n",
      rule_code(rule.rule), rule.name, severity_name(rule.severity), level_name(rule.level),
      rule.title, rule.why, rule.source, rule.example);
}

std::string all_rules_text() {
  TextTable table({{"RULE"}, {"SEVERITY"}, {"LEVEL"}, {"WHAT MUST HOLD"}});
  for (const RuleInfo& rule : rules())
    table.add({rule_code(rule.rule), std::string(severity_name(rule.severity)),
               std::string(level_name(rule.level)), std::string(rule.title)});
  return table.text();
}

Result<int> explain(const std::string& code, bool as_json, Environment& environment) {
  const RuleInfo* rule = find_rule(code);
  if (!code.empty() && rule == nullptr)
    return Error{ErrorCode::argument,
                 fmt::format("there is no rule '{}'; 'pt2 explain' lists them", code), ""};
  if (as_json)
    print(environment.out, rules_json(rule == nullptr ? rules() : std::span(rule, 1)));
  else
    print(environment.out, rule != nullptr ? rule_text(*rule) : all_rules_text());
  return kOk;
}

}  // namespace

Action setup_verify(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("FILE", options->files, "the .pt2 files; - is standard input")->required();
  std::vector<std::string> names;
  for (Level level : kLevels) names.emplace_back(level_name(level));
  app.add_option("--level", options->level,
                 "how deep, each level with those before it;\nfull if not given")
      ->type_name("LEVEL")
      ->check(CLI::IsMember(names));
  add_limit_option(app, options->limits);
  add_json_option(app, options->json);
  return [options](Environment& environment) { return verify_files(*options, environment); };
}

Action setup_explain(CLI::App& app) {
  auto code = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  app.add_option("RULE", *code, "V103 or entry_checksum; without it, all rules are listed");
  add_json_option(app, *json);
  return [code, json](Environment& environment) { return explain(*code, *json, environment); };
}

}  // namespace pt2::tools
