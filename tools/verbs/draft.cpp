#include "pt2/format/draft.h"

#include <fmt/format.h>

#include <filesystem>

#include "pt2/ops/operators.h"
#include "pt2/save.h"
#include "tools/source.h"
#include "tools/verbs.h"
#include "tools/writing.h"

namespace pt2::tools {
namespace {

struct DraftArguments {
  Source source;
  std::string out;
  bool external = false;
};

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

Result<void> save_as_draft(const DraftArguments& options, const Package& package,
                           Environment& environment) {
  DraftOptions draft_options;
  std::filesystem::path beside(options.out);
  if (options.external)
    draft_options.external_file = beside.replace_extension(".bin").filename().string();
  if (options.external && beside == options.out)
    return Error{
        ErrorCode::argument,
        "found the ending '.bin', expected another: with --external, the .bin file holds the "
        "tensors",
        options.out};
  if (options.external && options.out == kOutputDevice)
    return Error{ErrorCode::argument,
                 "--external writes a second file beside the draft; give -o a file's name", ""};
  if (options.external) PT2_TRY_VOID(check_not_read(beside.string(), {options.source.file}));
  DraftReport report;
  auto file = package_draft(package, draft_options, report, options.source.model);
  if (!file) {
    for (const std::string& each : report.inexpressible)
      print_warning(environment, "the draft cannot express " + each);
    const bool is_placed = file.error().where.starts_with(options.source.file);
    return is_placed ? std::move(file).error() : at(std::move(file).error(), options.source.file);
  }
  for (const std::string& each : report.left_out)
    print_warning(environment, "the draft leaves out " + each);
  if (options.external) PT2_TRY_VOID(write_file(beside.string(), bytes_of(file->external), {}));
  const bool is_printed = options.out == kOutputDevice;
  return write_text(environment, is_printed ? "" : options.out, write_draft(file->module), {});
}

Result<int> convert(const DraftArguments& options, Environment& environment) {
  // Checks before any file is written, because --external writes two files.
  PT2_TRY_VOID(check_not_read(options.out, {options.source.file}));
  PT2_TRY(const Package package, open_package(options.source, environment));
  if (package.draft() == nullptr) {
    PT2_TRY_VOID(save_as_draft(options, package, environment));
    return kOk;
  }
  if (options.external)
    return usage_error("--external is for writing a draft, and the file is one already");
  PT2_TRY([[maybe_unused]] const std::string model, chosen_model(options.source, package));
  PT2_TRY(PackageContents contents, package_contents(package));
  PT2_TRY(Program program, from_draft(*package.draft()));
  name_positional_arguments(program);
  contents.programs[0].json = program_json(program);
  PT2_TRY_VOID(save_written(contents, options.out, environment));
  return kOk;
}

}  // namespace

Action setup_draft(CommandLine& line) {
  auto options = std::make_shared<DraftArguments>();
  add_source(line, options->source);
  add_written_option(line, options->out, "the file to write; - is standard output").required();
  line.add_flag("--external", options->external,
                "tensors in a .bin file beside the draft, with checksums");
  add_model_option(line, options->source);
  return [options](Environment& environment) { return convert(*options, environment); };
}

}  // namespace pt2::tools
