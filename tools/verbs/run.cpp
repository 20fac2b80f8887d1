#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/printable.h"
#include "pt2/format/zip.h"
#include "pt2/model.h"
#include "pt2/tensor_file.h"
#include "pt2/tools/run_trace.h"
#include "tools/execution.h"
#include "tools/json_members.h"
#include "tools/values/inputs.h"
#include "tools/values/values.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

struct Options {
  Execution execution;
  std::string output;
  std::optional<double> timeout;  // in seconds
  size_t top = 0;
  std::string labels;
  bool json = false;
};

// A century, which the clock can still count.
constexpr double kLongestTimeout = 3.2e9;

CallOptions call_options(const Options& options) {
  if (!options.timeout) return {};
  const std::chrono::duration<double> seconds(*options.timeout);
  return {.deadline = std::chrono::steady_clock::now() +
                      std::chrono::duration_cast<std::chrono::steady_clock::duration>(seconds)};
}

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

Result<std::vector<std::string>> read_labels(const std::string& path) {
  std::vector<std::string> labels;
  if (path.empty()) return labels;
  PT2_TRY(const Record record, map_file(path));
  std::string_view text = record.text();
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    labels.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return labels;
}

Result<void> print_top(const Options& options, const Model& model,
                       const std::vector<Value>& outputs, Environment& environment) {
  PT2_TRY(const std::vector<std::string> labels, read_labels(options.labels));
  for (size_t i = 0; i < outputs.size(); ++i)
    if (const auto* tensor = outputs[i].get_if<Tensor>())
      print(environment.out, top_text(model.outputs()[i].name, *tensor, options.top, labels));
  return {};
}

Result<int> run(const Options& options, Environment& environment) {
  if (!options.output.empty()) {
    PT2_TRY([[maybe_unused]] const TensorFormat format, tensor_format_of(options.output));
  }
  PT2_TRY(PreparedCall call, prepare_call(options.execution, environment));
  const Model& model = call.model;
  Session session(model, {.threads = options.execution.threads});
  session.seed(options.execution.seed);
  Result<std::vector<Value>> outputs = session.run(call.inputs, call_options(options));
  if (!outputs) return std::move(outputs).error();
  if (!options.output.empty())
    PT2_TRY_VOID(write_outputs(options.output, model, *outputs, environment));
  if (options.top > 0 && !options.json)
    PT2_TRY_VOID(print_top(options, model, *outputs, environment));
  if (options.json) {
    print(environment.out, outputs_json(options.execution.source.file, model, *outputs));
  } else if (options.output.empty() && options.top == 0) {
    for (size_t i = 0; i < outputs->size(); ++i)
      print(environment.out, value_text(model.outputs()[i].name, (*outputs)[i], environment));
  }
  return kOk;
}

}  // namespace

Action setup_run(CommandLine& line) {
  auto options = std::make_shared<Options>();
  add_source(line, options->execution.source);
  add_input_option(line, options->execution.inputs);
  line.add_option("-o,--output", options->output,
                  "write the outputs to this .npz or .safetensors file\n"
                  "(.npy for a single one)")
      .type_name("FILE");
  add_engine_options(line, options->execution.engine, options->execution.threads);
  add_execution_options(line, options->execution);
  line.add_option("--timeout", options->timeout,
                  "give up, with exit 5, when the program has not ended by then")
      .type_name("SECONDS")
      .range(0.0, kLongestTimeout);
  line.add_option("--top", options->top, "of each row of scores the N largest, not the numbers")
      .type_name("N");
  line.add_option("--labels", options->labels, "for --top: a text file, the name of a class a line")
      .type_name("FILE");
  add_json_option(line, options->json);
  return [options](Environment& environment) { return run(*options, environment); };
}

}  // namespace pt2::tools
