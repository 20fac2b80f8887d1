#include "tools/source.h"

#include <fmt/format.h>

#include <charconv>

#include "base/printable.h"
#include "pt2/verify.h"

namespace pt2::tools {
namespace {

struct LimitField {
  std::string_view name;
  void (*set)(Limits& limits, uint64_t value);
};
constexpr LimitField kLimits[] = {
#define PT2_LIMIT(name, type, value, text) \
  {#name, [](Limits& limits, uint64_t number) { limits.name = static_cast<type>(number); }},
#include "pt2/limits.def"
};

std::string limit_names() {
  std::string out;
  for (const LimitField& field : kLimits)
    out += (out.empty() ? "" : ", ") + std::string(field.name);
  return out;
}

void set_limit(Limits& limits, const std::string& text) {
  const size_t sign = text.find('=');
  const std::string_view name = std::string_view(text).substr(0, sign);
  for (const LimitField& field : kLimits) {
    if (field.name != name || sign == text.npos) continue;
    uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data() + sign + 1, end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end) break;
    return field.set(limits, value);
  }
  throw CLI::ValidationError(
      "--limit",
      "found '" + text + "', expected NAME=NUMBER, where NAME is one of " + limit_names());
}

}  // namespace

void add_source(CLI::App& app, Source& source) {
  app.add_option("FILE", source.file, "the .pt2 file; - is standard input")->required();
  add_limit_option(app, source.limits);
}

void add_model_option(CLI::App& app, Source& source) {
  app.add_option("--model", source.model, "which program of a package with several")
      ->type_name("NAME");
}

void add_limit_option(CLI::App& app, Limits& limits) {
  app.add_option_function<std::vector<std::string>>(
         "--limit",
         [&limits](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) set_limit(limits, text);
         },
         "raise a safety limit for a file that you trust")
      ->type_name("NAME=N")
      ->allow_extra_args(false);
}

void add_json_option(CLI::App& app, bool& json) {
  app.add_flag("--json", json, "print JSON, for programs");
}

std::string input_path(const std::string& file) { return file == "-" ? "/dev/stdin" : file; }

Result<Package> open_package(const Source& source, Environment& environment) {
  PT2_TRY(Package package, Package::open(input_path(source.file), source.limits));
  print_warnings(environment, package.warnings());
  return package;
}

void print_foreign_code(Environment& environment, const Package& package) {
  print_warnings(environment, find_foreign_code(package));
}

Result<std::string> chosen_model(const Source& source, const Package& package) {
  return package.model_name(source.model);
}

}  // namespace pt2::tools
