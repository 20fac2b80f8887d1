#include <fmt/format.h>

#include "pt2/format/schema_json.h"
#include "pt2/ir/canonicalize.h"
#include "serde/to_schema.h"
#include "tools/source.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

struct CanonArguments {
  Source source;
  std::string output;
  bool content = false;
  bool pretty = false;
};

Result<int> print_canonical(const CanonArguments& options, Environment& environment) {
  PT2_TRY(const Package package, open_package(options.source, environment));
  PT2_TRY(const Program* program, package.program(options.source.model));
  auto canonical = canonicalize(*program, options.content ? TieBreak::content : TieBreak::position);
  if (!canonical) return in_file(std::move(canonical).error(), options.source.file);
  const schema::ExportedProgram out = to_schema(*canonical);
  std::string text =
      options.pretty ? schema::encode_program_pretty(out) : schema::encode_program(out);
  if (options.pretty) text += '\n';
  PT2_TRY_VOID(write_text(environment, options.output, std::move(text), {options.source.file}));
  return kOk;
}

}  // namespace

Action setup_canon(CommandLine& line) {
  auto options = std::make_shared<CanonArguments>();
  add_source(line, options->source);
  line.add_flag("--content", options->content,
                "order nodes that PyTorch leaves in the file's order by their\n"
                "constants and users, and leave out their names");
  line.add_flag("--pretty", options->pretty, "with line breaks and indentation");
  add_output_option(line, options->output);
  add_model_option(line, options->source);
  return [options](Environment& environment) { return print_canonical(*options, environment); };
}

}  // namespace pt2::tools
