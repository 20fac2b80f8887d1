#include "pt2/tools/weights.h"
#include "tools/verbs.h"
#include "tools/writing.h"

namespace pt2::tools {
namespace {

struct StripArguments {
  Writing writing;
  StripOptions strip;
};

Result<int> strip_file(const StripArguments& options, Environment& environment) {
  StripOptions wanted = options.strip;
  if (!wanted.unused && !wanted.metadata && !wanted.example_inputs) wanted.unused = true;
  PT2_TRY(const Package package, open_package(options.writing.source, environment));
  PT2_TRY_VOID(check_can_change(package, options.writing.source.file));
  PT2_TRY(PackageContents contents, package_contents(package));
  PT2_TRY(const ChangeLines lines, strip(contents, wanted));
  return write_changed(options.writing, package, contents, lines, environment);
}

}  // namespace

Action setup_strip(CommandLine& line) {
  auto options = std::make_shared<StripArguments>();
  add_source(line, options->writing.source);
  line.add_flag(
      "--unused", options->strip.unused,
      "leave out weights that no node uses, as quantized exports\nhave them; the default");
  line.add_flag("--metadata", options->strip.metadata,
                "leave out stack traces, paths and origins of nodes; names of\nmodules stay");
  line.add_flag("--example-inputs", options->strip.example_inputs,
                "leave out the file's example inputs");
  add_writing_options(line, options->writing);
  return [options](Environment& environment) { return strip_file(*options, environment); };
}

}  // namespace pt2::tools
