#include <fmt/format.h>

#include "pt2/format/stored_json.h"
#include "tools/source.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

struct JsonArguments {
  Source source;
  std::string payload;
  bool pretty = false;
  std::string output;
};

Result<std::string> payload_json(const JsonArguments& options, const Package& package) {
  const Role role = options.payload == "weights" ? Role::weights_config : Role::constants_config;
  PT2_TRY(const std::string model, chosen_model(options.source, package));
  const std::string name = package.archive().record_name(role, model);
  if (name.empty())
    return Error{
        ErrorCode::argument,
        "the file has no such JSON: PyTorch before 2.9 pickles weights and constants; 'pt2 ls "
        "--tensors' lists them",
        options.source.file};
  PT2_TRY(const Record record, package.archive().read(name));
  Diagnostics warnings;  // `package` has printed them already
  Result<schema::PayloadConfig> config = schema::decode<schema::PayloadConfig>(
      record.text(), record.limits_inside(package.archive().limits()), warnings);
  if (!config)
    return at(std::move(config).error(), fmt::format("{}!{}:", options.source.file, name));
  return schema::encode_value(schema::type_of<schema::PayloadConfig>(), &*config,
                              options.pretty ? schema::Print::pretty : schema::Print::as_read);
}

Result<int> print_program(const JsonArguments& options, Environment& environment) {
  PT2_TRY(const Package package, open_package(options.source, environment));
  const schema::Print style = options.pretty ? schema::Print::pretty : schema::Print::as_read;
  PT2_TRY(std::string text, options.payload.empty()
                                ? stored_json(package, options.source.model, style)
                                : payload_json(options, package));
  if (options.pretty) text += '\n';
  PT2_TRY_VOID(write_text(environment, options.output, std::move(text), {options.source.file}));
  return kOk;
}

}  // namespace

Action setup_json(CommandLine& line) {
  auto options = std::make_shared<JsonArguments>();
  add_source(line, options->source);
  line.add_flag("--pretty", options->pretty, "with line breaks and indentation");
  line.add_option("--payload", options->payload,
                  "the list of its weights or constants instead of the program")
      .type_name("KIND")
      .one_of({"weights", "constants"});
  add_output_option(line, options->output);
  add_model_option(line, options->source);
  return [options](Environment& environment) { return print_program(*options, environment); };
}

}  // namespace pt2::tools
