#include "pt2/ir/program_text.h"
#include "tools/source.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

struct Options {
  Source source;
  TextOptions text;
};

Result<int> disassemble(const Options& options, Environment& environment) {
  PT2_TRY(const Package package, open_package(options.source, environment));
  PT2_TRY(const Program* program, package.program(options.source.model));
  print(environment.out, print_program(*program, options.text));
  return kOk;
}

}  // namespace

Action setup_dis(CommandLine& line) {
  auto options = std::make_shared<Options>();
  add_source(line, options->source);
  line.add_flag("--metadata", options->text.metadata,
                "with stack traces, module stacks and the like: everything that the file says");
  add_model_option(line, options->source);
  return [options](Environment& environment) { return disassemble(*options, environment); };
}

}  // namespace pt2::tools
