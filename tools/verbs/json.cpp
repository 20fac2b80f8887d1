#include <fmt/format.h>

#include "pt2/draft.h"
#include "pt2/schema_json.h"
#include "tools/source.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

struct Options {
  Source source;
  std::string payload;
  bool pretty = false;
};

Result<std::string> program_json(const Options& options, const Package& package) {
  const schema::Print style = options.pretty ? schema::Print::pretty : schema::Print::as_read;
  if (const draft::GraphModule* module = package.draft(options.source.model))
    return schema::encode_value(schema::type_of<draft::GraphModule>(), module, style);
  // A container is one document; to get one of its programs, name it.
  if (options.source.model.empty()) {
    PT2_TRY(const auto container, package.container());
    if (container)
      return schema::encode_value(schema::type_of<schema::Model>(), &*container, style);
  }
  PT2_TRY(const schema::ExportedProgram program, package.schema(options.source.model));
  return options.pretty ? schema::encode_program_pretty(program) : schema::encode_program(program);
}

Result<std::string> payload_json(const Options& options, const Package& package) {
  const Role role = options.payload == "weights" ? Role::weights_config : Role::constants_config;
  PT2_TRY(const std::string model, chosen_model(options.source, package));
  const std::string name = package.archive().record_name(role, model);
  if (name.empty())
    return Error{ErrorCode::argument,
                 "files of PyTorch before 2.9 pickle their payloads and have no such JSON; 'pt2 ls "
                 "--tensors' lists what is in them",
                 options.source.file};
  PT2_TRY(const Record record, package.archive().read(name));
  Diagnostics warnings;  // `package` has printed them already
  Result<schema::PayloadConfig> config =
      schema::decode<schema::PayloadConfig>(record.text(), options.source.limits, warnings);
  if (!config)
    return at(std::move(config).error(), fmt::format("{}!{}:", options.source.file, name));
  return schema::encode_value(schema::type_of<schema::PayloadConfig>(), &*config,
                              options.pretty ? schema::Print::pretty : schema::Print::as_read);
}

Result<int> print_program(const Options& options, Environment& environment) {
  PT2_TRY(const Package package, open_package(options.source, environment));
  PT2_TRY(std::string text, options.payload.empty() ? program_json(options, package)
                                                    : payload_json(options, package));
  // Programs get the exact bytes, people whole lines.
  if (options.pretty || environment.out_is_terminal) text += '\n';
  print(environment.out, text);
  return kOk;
}

}  // namespace

Action setup_json(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_source(app, options->source);
  app.add_flag("--pretty", options->pretty, "with line breaks and indentation");
  app.add_option("--payload", options->payload, "the list of its tensors instead of the program")
      ->type_name("KIND")
      ->check(CLI::IsMember({"weights", "constants"}));
  add_model_option(app, options->source);
  return [options](Environment& environment) { return print_program(*options, environment); };
}

}  // namespace pt2::tools
