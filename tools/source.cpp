#include "tools/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "pt2/tools/scan.h"
#include "pt2/verify.h"

namespace pt2::tools {
namespace {

constexpr std::string_view kStandardInput = "/dev/stdin";

}  // namespace

void add_source(CommandLine& line, Source& source, bool required) {
  Option file = line.add_option("FILE", source.file, "the .pt2 file; - is standard input");
  if (required) file.required();
  add_limit_option(line, source.limits);
}

void add_model_option(CommandLine& line, Source& source) {
  line.add_option("--model", source.model, "the program to take, of a package that has several")
      .type_name("NAME");
}

void add_limit_option(CommandLine& line, Limits& limits) {
  line.add_repeatable(
          "--limit", [&limits](const std::string& text) { return set_limit(limits, text); },
          "raise a safety limit for a file that you trust")
      .type_name("NAME=N");
}

void add_output_option(CommandLine& line, std::string& output) {
  line.add_option("-o,--output", output, "write this file instead of printing").type_name("FILE");
}

void add_json_option(CommandLine& line, bool& json) {
  line.add_flag("--json", json, "print JSON instead of text (schemas: docs/json)");
}

std::string input_path(const std::string& file) {
  return file == "-" ? std::string(kStandardInput) : file;
}

Result<void> check_is_file(const std::string& file) {
  std::error_code unknown;
  if (!std::filesystem::is_directory(input_path(file), unknown)) return {};
  return Error{ErrorCode::argument, "found a folder, expected a file", file};
}

Result<void> check_one_standard_input(std::span<const std::string> files) {
  const auto is_standard_input = [](const std::string& file) {
    return input_path(file) == kStandardInput;
  };
  if (std::ranges::count_if(files, is_standard_input) < 2) return {};
  return usage_error("standard input holds one file, not two");
}

std::string shown_place(std::string_view place) {
  for (const std::string_view name : {kStandardInput, std::string_view("-")}) {
    if (!place.starts_with(name)) continue;
    const std::string_view inside = place.substr(name.size());
    if (inside.empty() || inside[0] == '!' || inside[0] == ':')
      return fmt::format("standard input{}", inside);
  }
  return std::string(place);
}

Result<Package> open_package(const Source& source, Environment& environment) {
  PT2_TRY_VOID(check_is_file(source.file));
  PT2_TRY(Package package, Package::open(input_path(source.file), source.limits));
  print_warnings(environment, package.warnings());
  return package;
}

Result<Archive> open_container(const Source& source) {
  PT2_TRY_VOID(check_is_file(source.file));
  return Archive::open_container(input_path(source.file), source.limits);
}

void print_foreign_code(Environment& environment, const Package& package) {
  print_warnings(environment, find_foreign_code(package));
  for (const ScanFinding& finding : find_code_hazards(package.archive())) {
    const bool is_note = finding.hazard->level == HazardLevel::note;
    print(environment.err, fmt::format("pt2: {}: {} {}\n", is_note ? "note" : "warning",
                                       finding.hazard->code(), finding.place_and_text()));
  }
}

Result<std::string> chosen_model(const Source& source, const Package& package) {
  return package.model_name(source.model);
}

}  // namespace pt2::tools
