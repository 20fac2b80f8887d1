#include "pt2/diagnostics.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "base/printable.h"

namespace pt2 {
namespace {

constexpr RuleInfo kRules[] = {
#define PT2_RULE(number, name, severity, level, title, why, source, example) \
  {Rule::name, #name, Severity::severity, Level::level, title, why, source, example},
#include "pt2/rules.def"
};

constexpr bool ascending() {
  for (size_t i = 1; i < std::size(kRules); ++i)
    if (kRules[i - 1].rule >= kRules[i].rule) return false;
  return true;
}
static_assert(ascending(), "rules.def must be in the order of its numbers");

}  // namespace

std::span<const RuleInfo> rules() { return kRules; }

const RuleInfo& rule_info(Rule rule) {
  auto it = std::ranges::lower_bound(kRules, rule, {}, &RuleInfo::rule);
  PT2_CHECK(it != std::end(kRules) && it->rule == rule);
  return *it;
}

std::string rule_code(Rule rule) { return "V" + std::to_string(static_cast<int>(rule)); }

const RuleInfo* find_rule(std::string_view code_or_name) {
  for (const RuleInfo& info : kRules)
    if (info.name == code_or_name || rule_code(info.rule) == code_or_name) return &info;
  return nullptr;
}

std::string_view level_name(Level level) {
  constexpr std::string_view kNames[] = {"container", "schema", "graph", "full"};
  return kNames[static_cast<size_t>(level)];
}

std::string NodePlace::text() const {
  // An assertion has no result that could name it, and older schemas have no node names.
  std::string out = name.empty() ? target : "%" + name + " (" + target + ")";
  if (!module_path.empty()) out += " of " + module_path;
  if (!source_line.empty()) out += " at " + source_line;
  return out;
}

std::string Diagnostic::line() const {
  std::string out = rule_code(rule);
  out += severity() == Severity::error ? " error: " : " warning: ";
  out += Error{code, text, where}.text();
  if (node) out += "; node " + node.text();
  return printable_line(out);
}

// The texts are bounded: a name or an expression can be as long as the file, and occur in the
// findings of all its nodes.
void Diagnostics::add(Rule rule, std::string where, std::string text) {
  add(rule, Error{ErrorCode::invalid, std::move(text), std::move(where)});
}

void Diagnostics::add(Rule rule, Error error) {
  items_.push_back({.rule = rule,
                    .where = bounded(std::move(error.where)),
                    .text = bounded(std::move(error.message)),
                    .code = error.code});
}

void Diagnostics::append(Diagnostics other) {
  std::ranges::move(other.items_, std::back_inserter(items_));
}

bool Diagnostics::has_errors() const { return count(Severity::error) > 0; }

std::optional<Error> Diagnostics::first_error() const {
  const auto first = std::ranges::find(items_, Severity::error, &Diagnostic::severity);
  if (first == items_.end()) return std::nullopt;
  return Error{first->code, first->text, first->where};
}

size_t Diagnostics::count(Severity severity) const {
  return static_cast<size_t>(std::ranges::count_if(
      items_, [&](const Diagnostic& item) { return item.severity() == severity; }));
}

}  // namespace pt2
