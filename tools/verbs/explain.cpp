#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "base/printable.h"
#include "ir/target.h"
#include "ops/table.h"
#include "pt2/conversion.h"
#include "pt2/limits.h"
#include "pt2/ops/operators.h"
#include "pt2/tools/scan.h"
#include "tools/json_members.h"
#include "tools/names.h"
#include "tools/source.h"
#include "tools/table.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

// An explanation of a term in a message, as lines of "label: text".
struct Explanation {
  std::string title;
  std::vector<std::pair<std::string, std::string>> lines;
};

std::string_view severity_name(Severity severity) {
  return severity == Severity::error ? "error" : "warning";
}

void add_hazard(Explanation& out, const HazardInfo& hazard) {
  out.lines.emplace_back("pt2 scan", std::string(hazard_level_name(hazard.level)));
  out.lines.emplace_back("what to do", std::string(hazard.remedy));
}

Explanation of_rule(const RuleInfo& rule) {
  Explanation out{fmt::format("{} {} ({}, level {})", rule_code(rule.rule), rule.name,
                              severity_name(rule.severity), level_name(rule.level)),
                  {{"what must hold", std::string(rule.title)},
                   {"why", std::string(rule.why)},
                   {"in PyTorch", std::string(rule.source)},
                   {"example", std::string(rule.example)}}};
  if (const HazardInfo* hazard = find_hazard(rule.name)) add_hazard(out, *hazard);
  return out;
}

Explanation of_hazard(const HazardInfo& hazard) {
  Explanation out{
      fmt::format("{} {}", hazard.code(), hazard.name()),
      {{"what should hold", std::string(hazard.title())}, {"why", std::string(hazard.why())}}};
  add_hazard(out, hazard);
  return out;
}

Explanation of_blocker(const BlockerInfo& blocker) {
  Explanation out{
      fmt::format("{} (a blocker: what keeps a release from loading a program)", blocker.name),
      {{"what", std::string(blocker.what)}, {"in PyTorch", std::string(blocker.source)}}};
  out.lines.emplace_back(
      "what to do", blocker.loss.empty()
                        ? "choose a newer release: this one has no program that means the same"
                        : fmt::format("pt2 convert --lossy {} converts without it", blocker.loss));
  return out;
}

std::optional<Explanation> of_error(std::string_view name) {
  const auto code = find_error_code(name);
  if (!code) return std::nullopt;
  return Explanation{fmt::format("{} (a kind of failure)", name),
                     {{"meaning", std::string(error_code_meaning(*code))},
                      {"exit code", std::to_string(exit_code(*code))}}};
}

std::optional<Explanation> of_limit(std::string_view name) {
  const LimitInfo* row = find_limit(name);
  if (row == nullptr) return std::nullopt;
  return Explanation{
      fmt::format("{} (a safety limit)", row->name),
      {{"bounds", std::string(row->text)},
       {"value", std::to_string(row->value)},
       {"what to do", fmt::format("--limit {}=N, for a file that you trust", row->name)}}};
}

// Explains operators that run by the row of another one: "add_", "aten.add.out", "aten.view_copy".
std::vector<Explanation> of_derived_operator(const std::string& name) {
  std::vector<Explanation> out;
  for (const char* prefix : {"", "torch.ops.", "torch.ops.aten."})
    for (const char* overload : {"", ".default", ".Tensor", ".Scalar"}) {
      const std::string target = prefix + name + overload;
      const ops::Operator op = ops::find_operator(target);
      if (!op) continue;
      out.push_back({fmt::format("{} (an operator)", target),
                     {{"computes as", ops::target_of(*op.def->signature)},
                      {"signature there", std::string(op.def->signature->text)},
                      {"runs here", "yes"}}});
    }
  return out;
}

// Explains every overload that matches "add", "aten.add", "aten.add.Tensor" or the whole target.
std::vector<Explanation> of_operator(const std::string& name) {
  std::vector<Explanation> out;
  for (const OperatorInfo& each : available_operators()) {
    const std::string_view target = short_target(each.target);
    const std::string_view base = target.substr(0, target.rfind('.'));
    const std::string_view last = base.substr(std::min(base.rfind('.') + 1, base.size()));
    if (each.target != name && target != name && base != name && last != name) continue;
    Explanation one{fmt::format("{} (an operator)", each.target), {}};
    if (!each.signature.empty()) one.lines.emplace_back("signature", each.signature);
    one.lines.emplace_back("runs here", "yes");
    one.lines.emplace_back("shape rule",
                           each.has_rule ? "yes" : "none: sizes follow from running it");
    out.push_back(std::move(one));
  }
  return out.empty() ? of_derived_operator(name) : out;
}

std::vector<Explanation> explanations_of(const std::string& topic) {
  if (const RuleInfo* rule = find_rule(topic)) return {of_rule(*rule)};
  if (const HazardInfo* hazard = find_hazard(topic)) return {of_hazard(*hazard)};
  const auto blockers = blocker_kinds();
  const auto blocker = std::ranges::find(blockers, topic, &BlockerInfo::name);
  if (blocker != blockers.end()) return {of_blocker(*blocker)};
  if (auto error = of_error(topic)) return {*std::move(error)};
  if (auto limit = of_limit(topic)) return {*std::move(limit)};
  return of_operator(topic);
}

std::string text_of(const Explanation& each) {
  std::string out = each.title + "\n\n";
  for (const auto& [label, text] : each.lines) out += fmt::format("{}: {}\n", label, text);
  return out;
}

std::string json_of(const std::vector<Explanation>& all) {
  return json_object([&](JsonWriter& json) {
    write_objects(json, "explanations", all, [&](const Explanation& each) {
      write_text(json, "title", each.title);
      for (const auto& [label, text] : each.lines) write_text(json, label, text);
    });
  });
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

std::string everything_text() {
  TextTable table({{"RULE"}, {"SEVERITY"}, {"LEVEL"}, {"WHAT MUST HOLD"}});
  for (const RuleInfo& rule : rules())
    table.add({rule_code(rule.rule), std::string(severity_name(rule.severity)),
               std::string(level_name(rule.level)), std::string(rule.title)});
  for (const HazardInfo& hazard : hazards())
    if (!hazard.rule)
      table.add({hazard.code(), std::string(hazard_level_name(hazard.level)), "scan",
                 std::string(hazard.title())});
  return table.text();
}

// Returns the name to compare with the topic: with the overload only if the topic has one, else
// "aten.add" or "add".
std::string_view compared_name(const OperatorInfo& each, std::string_view topic) {
  const std::string_view target = short_target(each.target);
  const auto dots = std::ranges::count(topic, '.');
  if (dots > 1) return topic.starts_with("torch.") ? std::string_view(each.target) : target;
  const bool has_overload = target.size() < each.target.size();
  if (dots == 1 && !has_overload) return target;
  const std::string_view base = target.substr(0, target.rfind('.'));
  return dots == 1 ? base : base.substr(std::min(base.rfind('.') + 1, base.size()));
}

Error unknown_operator(const std::string& topic) {
  const std::string near =
      nearest_name(topic, available_operators(),
                   [&](const OperatorInfo& each) { return compared_name(each, topic); });
  return usage_error(fmt::format("there is no operator '{}'{} 'pt2 ops' lists the operators",
                                 printable(topic), near.empty() ? ";" : did_you_mean(near)));
}

constexpr std::string_view kErrorKinds[] = {
#define PT2_ERROR(name, exit_code, meaning) #name,
#include "pt2/error.def"
};

Error unknown(const std::string& topic) {
  // Only operators have dots in their names.
  if (topic.find('.') != topic.npos) return unknown_operator(topic);
  const std::vector<OperatorInfo> operators = available_operators();
  std::vector<std::string_view> names;
  for (const RuleInfo& rule : rules()) names.push_back(rule.name);
  for (const HazardInfo& hazard : hazards()) names.push_back(hazard.name());
  for (const BlockerInfo& blocker : blocker_kinds()) names.push_back(blocker.name);
  for (const LimitInfo& limit : limit_infos()) names.push_back(limit.name);
  for (const std::string_view kind : kErrorKinds) names.push_back(kind);
  for (const OperatorInfo& each : operators) names.push_back(compared_name(each, topic));
  const std::string near = nearest_name(topic, names, std::identity());
  return usage_error(fmt::format(
      "there is no rule, blocker, error, limit or operator '{}'{} 'pt2 explain' lists the rules, "
      "'pt2 ops' the operators",
      printable(topic), near.empty() ? ";" : did_you_mean(near)));
}

// Returns "V103" for "v103", and "aten.add.Tensor" for "aten::add.Tensor", as in a signature.
std::string canonical_topic(std::string topic) {
  const bool is_code = topic.size() == 4 && topic.find_first_not_of("0123456789", 1) == topic.npos;
  if (is_code && (topic[0] == 'v' || topic[0] == 's'))
    topic[0] = static_cast<char>(topic[0] - 'a' + 'A');
  if (const size_t colons = topic.find("::"); colons != topic.npos) topic.replace(colons, 2, ".");
  return topic;
}

Result<int> explain(const std::string& typed, bool as_json, Environment& environment) {
  const std::string topic = canonical_topic(typed);
  if (topic.empty()) {
    print(environment.out, as_json ? rules_json(rules()) : everything_text());
    return kOk;
  }
  if (const RuleInfo* rule = find_rule(topic); rule != nullptr && as_json) {
    print(environment.out, rules_json(std::span(rule, 1)));
    return kOk;
  }
  const std::vector<Explanation> all = explanations_of(topic);
  if (all.empty()) return unknown(topic);
  if (as_json) {
    print(environment.out, json_of(all));
    return kOk;
  }
  for (size_t i = 0; i < all.size(); ++i)
    print(environment.out, (i > 0 ? "\n" : "") + text_of(all[i]));
  return kOk;
}

}  // namespace

Action setup_explain(CommandLine& line) {
  auto topic = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  line.add_option("TOPIC", *topic,
                  "V103 or entry_checksum, S004, a blocker, a kind of error, a limit,\n"
                  "an operator (aten.add); without it, all rules are listed");
  add_json_option(line, *json);
  return [topic, json](Environment& environment) { return explain(*topic, *json, environment); };
}

}  // namespace pt2::tools
