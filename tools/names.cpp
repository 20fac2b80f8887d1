#include "tools/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace pt2::tools {
namespace {

// clang-format off
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"compare", "diff"},      {"cmp", "diff"},          {"print", "dis"},
    {"disassemble", "dis"},   {"text", "dis"},          {"assemble", "as"},
    {"show", "info"},         {"summary", "info"},      {"inspect", "info"},
    {"describe", "info"},     {"list", "ls"},           {"records", "ls"},
    {"tensors", "weights"},   {"params", "weights"},    {"quantize", "weights"},
    {"upgrade", "convert"},   {"downgrade", "convert"}, {"export", "convert"},
    {"validate", "verify"},   {"lint", "verify"},       {"fsck", "verify"},
    {"safe", "scan"},         {"audit", "scan"},        {"security", "scan"},
    {"extract", "edit"},      {"cut", "edit"},          {"rename", "edit"},
    {"merge", "pack"},        {"join", "pack"},         {"bundle", "pack"},
    {"split", "unpack"},      {"unzip", "unpack"},      {"labels", "meta"},
    {"metadata", "meta"},     {"digest", "hash"},       {"sha256", "hash"},
    {"checksum", "hash"},     {"flops", "stats"},       {"macs", "stats"},
    {"size", "stats"},        {"count", "stats"},       {"exec", "run"},
    {"execute", "run"},       {"infer", "run"},         {"predict", "run"},
    {"forward", "run"},       {"profile", "bench"},     {"benchmark", "bench"},
    {"time", "bench"},        {"debug", "trace"},       {"operators", "ops"},
    {"shapes", "check"},      {"rules", "explain"},     {"prune", "strip"},
    {"shrink", "strip"},      {"slim", "strip"},        {"optimize", "strip"},
    {"optimise", "strip"},    {"canonicalize", "canon"}, {"normalize", "canon"},
    {"draw", "graph"},        {"plot", "graph"},         {"view", "graph"},
    {"visualize", "graph"},   {"picture", "graph"},      {"html", "graph"},
    {"inference", "run"},     {"eval", "run"},           {"evaluate", "run"},
    {"complete", "generate"}, {"decode", "generate"},    {"chat", "generate"},
    {"cast", "weights"},      {"share", "weights"},      {"lower", "decompose"},
    {"read", "cat"},          {"dump", "json"},          {"load", "info"},
    {"open", "info"},         {"version", "--version"},  {"-v", "--version"},
    {"-V", "--version"}};
// clang-format on

}  // namespace

size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string did_you_mean(std::string_view name) {
  return name.empty() ? "" : fmt::format("; did you mean '{}'?", name);
}

bool matches(std::string_view name, std::string_view pattern) {
  constexpr size_t kNone = std::string_view::npos;
  size_t at = 0, next = 0;
  size_t star = kNone, begin = 0;  // the last *, and where the text after it was tried
  while (at < name.size()) {
    if (next < pattern.size() && pattern[next] == '*') {
      star = next++;
      begin = at;
    } else if (next < pattern.size() && (pattern[next] == '?' || pattern[next] == name[at])) {
      ++next, ++at;
    } else if (star != kNone) {
      next = star + 1;
      at = ++begin;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', next) == kNone;
}

std::string_view verb_that_means(std::string_view word) {
  const auto* found =
      std::ranges::find(kOtherNames, word, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(kOtherNames) ? std::string_view() : found->second;
}

}  // namespace pt2::tools
