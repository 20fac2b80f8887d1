#include <fmt/format.h>

#include <set>

#include "base/printable.h"
#include "pt2/model.h"
#include "pt2/run_trace.h"
#include "pt2/tensor_file.h"
#include "tools/inputs.h"
#include "tools/json_members.h"
#include "tools/plugins.h"
#include "tools/source.h"
#include "tools/values.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

struct Options {
  Source source;
  std::vector<std::string> inputs;
  std::vector<std::string> libraries;
  std::string output;
  uint64_t seed = 0;
  bool json = false;
};

// Results may carry one name twice; a file's names are its index.
std::string unused_name(const std::string& name, std::set<std::string>& used) {
  std::string candidate = name;
  for (int number = 1; !used.insert(candidate).second; ++number)
    candidate = fmt::format("{}_{}", name, number);
  return candidate;
}

Result<void> write_outputs(const std::string& path, const Model& model,
                           const std::vector<Value>& outputs, Environment& environment) {
  NamedTensors tensors;
  std::set<std::string> used;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = model.outputs()[i].name;
    if (std::optional<Tensor> tensor = as_tensor(outputs[i]))
      tensors.emplace_back(unused_name(name, used), *std::move(tensor));
    else
      print_warning(environment,
                    fmt::format("{} is not written: {}", printable(name), outputs[i].type_text()));
  }
  return write_tensor_file(path, tensors);
}

std::string outputs_json(const std::string& file, const Model& model,
                         const std::vector<Value>& outputs) {
  return json_object([&](JsonWriter& json) {
    write_text(json, "file", file);
    size_t index = 0;
    write_objects(json, "outputs", outputs, [&](const Value& output) {
      write_text(json, "name", model.outputs()[index++].name);
      write_value(json, output);
    });
  });
}

Result<int> run(const Options& options, Environment& environment) {
  if (!options.output.empty()) {
    PT2_TRY([[maybe_unused]] const TensorFormat format, tensor_format_of(options.output));
  }
  PT2_TRY(Package package, open_package(options.source, environment));
  PT2_TRY(CustomOperators operators, load_operators(options.libraries));
  PT2_TRY(const Model model,
          Model::from_package(std::make_shared<const Package>(std::move(package)),
                              {.limits = options.source.limits,
                               .model = options.source.model,
                               .operators = std::move(operators)}));
  PT2_TRY(std::vector<Value> inputs,
          options.inputs.empty() ? read_sample_inputs(model, options.source.model, environment)
                                 : read_inputs(model, options.inputs, options.source.limits));
  Session session(model);
  session.seed(options.seed);
  Result<std::vector<Value>> outputs = session.run(inputs);
  if (!outputs) return std::move(outputs).error();
  if (!options.output.empty())
    PT2_TRY_VOID(write_outputs(options.output, model, *outputs, environment));
  if (options.json) {
    print(environment.out, outputs_json(options.source.file, model, *outputs));
  } else if (options.output.empty()) {
    for (size_t i = 0; i < outputs->size(); ++i)
      print(environment.out, value_text(model.outputs()[i].name, (*outputs)[i], environment));
  }
  return kOk;
}

}  // namespace

Action setup_run(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_source(app, options->source);
  add_input_option(app, options->inputs);
  app.add_option("-o,--output", options->output,
                 "write the outputs to this .npz or .safetensors file\n"
                 "(.npy for a single one)")
      ->type_name("FILE");
  app.add_option("--seed", options->seed, "of the random operators, as torch.manual_seed")
      ->type_name("N");
  add_ops_option(app, options->libraries);
  add_model_option(app, options->source);
  add_json_option(app, options->json);
  return [options](Environment& environment) { return run(*options, environment); };
}

}  // namespace pt2::tools
