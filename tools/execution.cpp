#include "tools/execution.h"

#include "tools/plugins.h"

namespace pt2::tools {

void add_engine_options(CommandLine& line, EngineKind& engine, unsigned& threads, bool* both) {
  std::vector<std::string> names{"planned", "reference"};
  if (both != nullptr) names.push_back("both");
  line.add_checked(
          "--engine",
          [&engine, both](const std::string& name) -> Result<void> {
            engine = name == "reference" ? EngineKind::reference : EngineKind::planned;
            if (both != nullptr) *both = name == "both";
            return {};
          },
          both == nullptr ? "planned (kernels over several nodes, the default) or reference\n"
                            "(node by node, as the program is written)"
                          : "planned (kernels over several nodes, the default), reference\n"
                            "(node by node, as the program is written), or both: compared\n"
                            "with each other as well, and where nothing was recorded on the\n"
                            "file's sample inputs or random ones")
      .type_name("NAME")
      .one_of(names);
  line.add_option("--threads", threads, "at most N threads; 0, the default: one for each processor")
      .type_name("N");
}

void add_execution_options(CommandLine& line, Execution& execution) {
  line.add_option("--seed", execution.seed,
                  "seed of the random operators, as for torch.manual_seed")
      .type_name("N");
  add_ops_option(line, execution.libraries);
  add_model_option(line, execution.source);
}

Result<Model> load_model(std::shared_ptr<const Package> package, const Source& source,
                         CustomOperators operators, EngineKind engine) {
  return Model::from_package(std::move(package), {.limits = source.limits,
                                                  .model = source.model,
                                                  .operators = std::move(operators),
                                                  .engine = engine});
}

Result<Model> load_model(Package package, const Source& source, CustomOperators operators,
                         EngineKind engine) {
  return load_model(std::make_shared<const Package>(std::move(package)), source,
                    std::move(operators), engine);
}

Result<PreparedCall> prepare_call(const Execution& execution, Environment& environment) {
  const Source& source = execution.source;
  PT2_TRY(Package package, open_package(source, environment));
  PT2_TRY(CustomOperators operators, load_operators(execution.libraries));
  PT2_TRY(Model model,
          load_model(std::move(package), source, std::move(operators), execution.engine));
  PT2_TRY(CallInputs inputs, execution.inputs.arguments.empty()
                                 ? read_sample_inputs(model, source.model, environment)
                                 : read_inputs(model, execution.inputs, source.limits));
  return PreparedCall{std::move(model), std::move(inputs)};
}

}  // namespace pt2::tools
