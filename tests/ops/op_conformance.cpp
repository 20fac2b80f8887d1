// op_conformance [--json | --counts] PATH…: runs recorded operator calls of PyTorch from files or
// folders and reports how many passed for each overload. Exit code 1 if a call failed. --counts
// prints lines `overload passed recorded`, summed over the folders, as in
// tests/data/ops/conformance.txt.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

#include "base/json.h"
#include "ops/conformance.h"

namespace {

using pt2::ops::ConformanceReport;

void print_text(const ConformanceReport& report) {
  std::printf("%-8s %s: %d passed, %zu failed, %d skipped%s\n",
              report.failures.empty() ? (report.known ? "ok" : "missing") : "FAILED",
              report.overload.c_str(), report.passed, report.failures.size(), report.skipped,
              report.known ? "" : " (no such operator)");
  for (const auto& failure : report.failures)
    std::printf("    [%d] %s\n", failure.sample, failure.text.c_str());
}

void print_json(pt2::JsonWriter& writer, const ConformanceReport& report) {
  writer.begin_object();
  writer.key("overload");
  writer.string(report.overload);
  writer.key("tier");
  writer.string(report.tier);
  writer.key("known");
  writer.boolean(report.known);
  writer.key("passed");
  writer.integer(report.passed);
  writer.key("skipped");
  writer.integer(report.skipped);
  writer.key("failures");
  writer.begin_array();
  for (const auto& failure : report.failures) {
    writer.begin_object();
    writer.key("sample");
    writer.integer(failure.sample);
    writer.key("text");
    writer.string(failure.text);
    writer.end_object();
  }
  writer.end_array();
  writer.end_object();
}

std::vector<std::string> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      out.push_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(path))
      if (entry.path().extension() == ".safetensors") out.push_back(entry.path().string());
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  bool json = false;
  bool counts = false;
  std::map<std::string, std::pair<int, size_t>> sums;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--json")
      json = true;
    else if (std::string_view(argv[i]) == "--counts")
      counts = true;
    else
      paths.emplace_back(argv[i]);
  }
  if (paths.empty()) {
    std::fprintf(stderr, "usage: op_conformance [--json | --counts] PATH...\n");
    return 2;
  }
  pt2::JsonWriter writer(pt2::JsonStyle::pretty);
  writer.begin_array();
  int whole = 0;
  int passed = 0;
  int failed = 0;
  int missing = 0;
  for (const std::string& path : files_of(paths)) {
    const auto report = pt2::ops::check_conformance(path);
    if (!report) {
      std::fprintf(stderr, "%s: %s\n", path.c_str(), report.error().text().c_str());
      return 3;
    }
    if (json)
      print_json(writer, *report);
    else if (!counts)
      print_text(*report);
    else if (report->known) {
      auto& [fine, all] = sums[report->overload];
      fine += report->passed;
      all += static_cast<size_t>(report->passed) + report->failures.size();
    }
    std::fflush(stdout);
    passed += report->passed;
    failed += static_cast<int>(report->failures.size());
    missing += !report->known;
    whole += report->known && report->failures.empty();
  }
  writer.end_array();
  for (const auto& [overload, sum] : sums)
    std::printf("%s %d %zu\n", overload.c_str(), sum.first, sum.second);
  if (json)
    std::printf("%s\n", writer.text().c_str());
  else if (!counts)
    std::printf("%d overloads whole, %d missing; %d samples passed, %d failed\n", whole, missing,
                passed, failed);
  return failed != 0 ? 1 : 0;
}
