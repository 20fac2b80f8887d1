#include "inspect/hazard.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/printable.h"

namespace pt2 {
namespace {

constexpr HazardInfo kHazards[] = {
#define PT2_HAZARD_RULE(rule, level, remedy) \
  {Rule::rule, 0, HazardLevel::level, remedy, {}, {}, {}},
#define PT2_HAZARD(number, name, level, title, why, remedy) \
  {std::nullopt, number, HazardLevel::level, remedy, #name, title, why},
#include "pt2/tools/hazards.def"
};

}  // namespace

const HazardInfo& hazard_info(Hazard hazard) {
  return *std::ranges::find(kHazards, static_cast<uint16_t>(hazard), &HazardInfo::number);
}

const HazardInfo* hazard_of(Rule rule) {
  const auto found = std::ranges::find(kHazards, std::optional(rule), &HazardInfo::rule);
  return found == std::end(kHazards) ? nullptr : found;
}

bool stops_reading(const Diagnostic& finding) {
  return finding.rule == Rule::container_opens || finding.rule == Rule::program_decodes ||
         finding.rule == Rule::program_reads || finding.rule == Rule::program_name ||
         finding.rule == Rule::payload_reads;
}

std::string_view hazard_level_name(HazardLevel level) {
  switch (level) {
    case HazardLevel::note:
      return "note";
    case HazardLevel::warning:
      return "warning";
    case HazardLevel::alarm:
      return "alarm";
  }
  return "";
}

std::string_view severity_name(HazardLevel level) {
  return level == HazardLevel::alarm ? "error" : hazard_level_name(level);
}

std::span<const HazardInfo> hazards() { return kHazards; }

std::string HazardInfo::code() const {
  return rule ? rule_code(*rule) : fmt::format("S{:03}", number);
}

std::string ScanFinding::place_and_text() const {
  constexpr size_t kMost = 400;
  const std::string at = node.text();
  return fmt::format("{}: {}{}", printable(where, kMost), printable(text, kMost),
                     at.empty() ? "" : " at " + printable(at, kMost));
}

const HazardInfo* find_hazard(std::string_view code_or_name) {
  const auto found = std::ranges::find_if(kHazards, [&](const HazardInfo& each) {
    return each.code() == code_or_name || each.name() == code_or_name;
  });
  return found == std::end(kHazards) ? nullptr : found;
}

}  // namespace pt2
