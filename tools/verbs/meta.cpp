#include <fmt/format.h>

#include <algorithm>

#include "archive/zip_format.h"
#include "base/printable.h"
#include "tools/json_members.h"
#include "tools/table.h"
#include "tools/verbs.h"
#include "tools/writing.h"

namespace pt2::tools {
namespace {

struct MetaArguments {
  std::string action;
  Writing writing;
  std::vector<std::string> names;
};

Error no_record(const std::string& name) {
  return {ErrorCode::argument,
          fmt::format("the file has no record '{}'; 'pt2 meta get FILE' lists those that it has",
                      printable(name)),
          ""};
}

std::string text_of(const Record& record) { return std::string(record.text()); }

Result<int> get(const MetaArguments& options, const PackageContents& contents,
                Environment& environment) {
  std::vector<SavedFile> chosen = contents.extra_files;
  if (!options.names.empty()) chosen.clear();
  for (const std::string& name : options.names) {
    const auto found = std::ranges::find(contents.extra_files, name, &SavedFile::name);
    if (found == contents.extra_files.end()) return no_record(name);
    chosen.push_back(*found);
  }
  if (options.writing.json) {
    print(environment.out, json_object([&](JsonWriter& json) {
            for (const SavedFile& file : chosen) write_text(json, file.name, text_of(file.content));
          }));
    return kOk;
  }
  for (const SavedFile& file : chosen) {
    if (options.names.empty())
      print(environment.out, fmt::format("{} ({})\n", printable(file.name),
                                         counted(file.content.bytes.size(), "byte")));
    else
      PT2_TRY_VOID(print_content(environment, file.content.text()));
  }
  return kOk;
}

// Applies NAME=TEXT, NAME@FILE, or NAME alone, which removes the record.
Result<std::string> set_one(PackageContents& contents, const std::string& argument) {
  const size_t sign = argument.find_first_of("=@");
  const std::string name = argument.substr(0, sign);
  const auto found = std::ranges::find(contents.extra_files, name, &SavedFile::name);
  const bool is_known = found != contents.extra_files.end();
  if (sign == argument.npos) {
    if (!is_known) return no_record(name);
    contents.extra_files.erase(found);
    return name + ": removed";
  }
  if (const std::string_view fault = zip::new_file_name_fault(name); !fault.empty())
    return usage_error(fmt::format("the name '{}' of a record {}", printable(name), fault));
  Record content;
  if (argument[sign] == '@') {
    const std::string file = argument.substr(sign + 1);
    if (file.empty())
      return usage_error(fmt::format("found '{}', expected NAME@FILE", printable(argument)));
    PT2_TRY(content, map_file(file));
  } else {
    content = make_record(argument.substr(sign + 1));
  }
  std::string line = fmt::format("{}: {}", name, counted(content.bytes.size(), "byte"));
  if (is_known)
    found->content = std::move(content);
  else
    contents.extra_files.push_back({name, std::move(content)});
  return line;
}

Result<int> meta(const MetaArguments& options, Environment& environment) {
  PT2_TRY_VOID(check_options_of(options.action, {{!options.writing.output.empty(), "-o", {"set"}},
                                                 {options.writing.check, "--check", {"set"}}}));
  if (options.action == "set" && options.names.empty())
    return usage_error("set: expected NAME=TEXT, NAME@FILE, or NAME alone to remove it");
  PT2_TRY(const Package package, open_package(options.writing.source, environment));
  PT2_TRY(PackageContents contents, package_contents(package));
  if (options.action == "get") return get(options, contents, environment);
  PT2_TRY_VOID(check_can_change(package, options.writing.source.file));
  std::vector<std::string> lines;
  for (const std::string& argument : options.names) {
    PT2_TRY(std::string line, set_one(contents, argument));
    lines.push_back(std::move(line));
  }
  return write_changed(options.writing, package, contents, lines, environment);
}

}  // namespace

Action setup_meta(CommandLine& line) {
  auto options = std::make_shared<MetaArguments>();
  line.add_option("ACTION", options->action, "get or set").required().one_of({"get", "set"});
  add_source(line, options->writing.source);
  line.add_option("NAME", options->names,
                  "get: which to print, else they are listed;\n"
                  "set: NAME=TEXT, NAME@FILE, or NAME alone to remove it");
  add_writing_options(line, options->writing);
  return [options](Environment& environment) { return meta(*options, environment); };
}

}  // namespace pt2::tools
