#include "analysis/document.h"

#include <fmt/format.h>

#include "pt2/diagnostics.h"

namespace pt2 {
namespace {

struct Block {
  int first;
  std::string_view title;
};
constexpr Block kBlocks[] = {{100, "Container"}, {200, "Schema"}, {300, "Payloads"},
                             {400, "Signature"}, {500, "Graph"},  {600, "Operators"}};

// Escapes a text for a cell of a Markdown table.
std::string cell(std::string_view text) {
  std::string out;
  for (char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string row(const RuleInfo& rule) {
  return fmt::format("| {} | `{}` | {} | {} | {} | {} | {} | `{}` |\n", rule_code(rule.rule),
                     rule.name, rule.severity == Severity::error ? "error" : "warning",
                     level_name(rule.level), cell(rule.title), cell(rule.why), cell(rule.source),
                     cell(rule.example));
}

}  // namespace

std::string document_rules() {
  std::string text =
      "# The rules of `pt2 verify`\n\n"
      "Made from `include/pt2/rules.def`; `PT2_REBASE=1 build/dev/tests/analysis_tests` writes it "
      "anew. \"In PyTorch\" says which function has the rule, or would need it.\n";
  for (const Block& block : kBlocks) {
    text += fmt::format("\n## V{}xx {}\n\n", block.first / 100, block.title);
    text += "| rule | name | severity | level | what must hold | why | in PyTorch | example |\n";
    text += "|---|---|---|---|---|---|---|---|\n";
    for (const RuleInfo& rule : rules())
      if (static_cast<int>(rule.rule) / 100 == block.first / 100) text += row(rule);
  }
  return text;
}

}  // namespace pt2
