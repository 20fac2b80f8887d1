#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pt2/ir/program_text.h"
#include "tools/execution.h"
#include "tools/plugins.h"
#include "tools/source.h"
#include "tools/table.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

struct DisArguments {
  Source source;
  TextOptions text;
  bool plan = false;
  std::string output;
  std::vector<std::string> libraries;
};

std::string plan_text(const std::vector<PlannedStep>& plan) {
  TextTable table({{"step", Align::right}, {"kernel"}, {"makes"}, {"computes"}, {"last use of"}});
  size_t number = 0;
  for (const PlannedStep& step : plan)
    table.add({std::to_string(++number), std::string(step.kernel), "%" + step.result,
               fmt::format("{}", fmt::join(step.operators, ", ")),
               step.released.empty() ? "" : fmt::format("%{}", fmt::join(step.released, " %"))});
  return table.text();
}

Result<int> disassemble(const DisArguments& options, Environment& environment) {
  PT2_TRY(Package package, open_package(options.source, environment));
  if (options.plan) {
    PT2_TRY(CustomOperators operators, load_operators(options.libraries));
    PT2_TRY(const Model model, load_model(std::move(package), options.source, std::move(operators),
                                          EngineKind::planned));
    PT2_TRY_VOID(
        write_text(environment, options.output, plan_text(model.plan()), {options.source.file}));
    return kOk;
  }
  PT2_TRY(const Program* program, package.program(options.source.model));
  PT2_TRY_VOID(write_text(environment, options.output, print_program(*program, options.text),
                          {options.source.file}));
  return kOk;
}

}  // namespace

Action setup_dis(CommandLine& line) {
  auto options = std::make_shared<DisArguments>();
  add_source(line, options->source);
  line.add_flag("--metadata", options->text.metadata,
                "with stack traces, module stacks and the like: everything that the file says");
  const Option plan =
      line.add_flag("--plan", options->plan,
                    "the steps in which a call computes the program, each with its kernel");
  add_output_option(line, options->output);
  add_ops_option(line, options->libraries).needs(plan);
  add_model_option(line, options->source);
  return [options](Environment& environment) -> Result<int> {
    if (options->plan && options->text.metadata)
      return usage_error("--plan prints steps, and --metadata is of nodes: give one or the other");
    return disassemble(*options, environment);
  };
}

}  // namespace pt2::tools
