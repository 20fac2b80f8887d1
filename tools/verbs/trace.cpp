#include <fmt/format.h>

#include "base/printable.h"
#include "ir/graph_place.h"
#include "pt2/model.h"
#include "pt2/tools/run_trace.h"
#include "tools/execution.h"
#include "tools/json_members.h"
#include "tools/names.h"
#include "tools/table.h"
#include "tools/values/inputs.h"
#include "tools/verbs.h"
#include "tools/writing.h"

namespace pt2::tools {
namespace {

struct TraceArguments {
  Execution execution;
  std::string nodes = "*";
  std::string output;
  bool json = false;
};

// The destination of traced values: a file, or lines on standard output.
class Recorder {
 public:
  Recorder(const TraceArguments& options, Environment& environment)
      : options_(options), environment_(environment) {}

  Result<void> open() {
    if (options_.output.empty()) return {};
    PT2_TRY(file_, TensorWriter::create(options_.output));
    return {};
  }

  // Records the run's inputs, which make the trace complete.
  Result<void> record_inputs(const Model& model, const std::vector<Value>& inputs) {
    return file_ ? write_inputs(model.program(), inputs, *file_) : Result<void>();
  }

  Result<void> record(const ObservedValue& observed) {
    if (!matches(observed.name, options_.nodes)) return {};
    ++count_;
    if (options_.json) {
      write_line(observed);
    } else if (!file_) {
      print(environment_.out,
            fmt::format("{}: {} = {}{}\n", printable(observed.name), observed.value.type_text(),
                        printable(observed.node.target), place_text(observed.node)));
    }
    const std::optional<Tensor> tensor = file_ ? as_tensor(observed.value) : std::nullopt;
    return tensor ? file_->add(observed.name, *tensor) : Result<void>();
  }

  Result<void> finish() {
    if (count_ == 0)
      return Error{
          ErrorCode::argument,
          fmt::format("--nodes: no value has a name that matches '{}'; 'pt2 dis' lists the "
                      "names",
                      printable(options_.nodes)),
          ""};
    if (!file_) return {};
    PT2_TRY_VOID(file_->finish());
    if (!options_.json) print(environment_.out, counted(count_, "value") + "\n");
    return {};
  }

 private:
  static std::string place_text(const Node& node) {
    const std::string line = source_line(node);
    const std::string module = module_path(node);
    return (line.empty() ? "" : " at " + printable(line)) +
           (module.empty() ? "" : " in " + printable(module));
  }

  // Prints one JSON object per line as it arrives, so that a reader can follow a long run.
  void write_line(const ObservedValue& observed) {
    print(environment_.out, json_object([&](JsonWriter& json) {
            write_text(json, "name", observed.name);
            write_text(json, "type", observed.value.type_text());
            write_text(json, "target", observed.node.target);
            write_text(json, "source_line", source_line(observed.node));
            write_text(json, "module_path", module_path(observed.node));
          }));
  }

  const TraceArguments& options_;
  Environment& environment_;
  std::unique_ptr<TensorWriter> file_;
  size_t count_ = 0;
};

Result<int> trace(const TraceArguments& options, Environment& environment) {
  PT2_TRY_VOID(check_tensor_file("-o", options.output));
  Recorder recorder(options, environment);
  PT2_TRY_VOID(recorder.open());
  PT2_TRY(PreparedCall call, prepare_call(options.execution, environment));
  PT2_TRY_VOID(recorder.record_inputs(call.model, call.inputs.values));
  Session session(call.model, call.inputs.session());
  session.seed(options.execution.seed);
  session.observe([&](const ObservedValue& observed) { return recorder.record(observed); });
  const Result<std::vector<Value>> outputs = session.run(call.inputs.values);
  if (!outputs) return outputs.error();
  PT2_TRY_VOID(recorder.finish());
  return kOk;
}

}  // namespace

Action setup_trace(CommandLine& line) {
  auto options = std::make_shared<TraceArguments>();
  add_source(line, options->execution.source);
  add_input_options(line, options->execution.inputs);
  line.add_option("-o,--output", options->output,
                  "write the values, and the inputs, to this .npz or .safetensors\n"
                  "file instead of listing them")
      .type_name("FILE");
  line.add_option("--nodes", options->nodes,
                  "only values whose names match: * is any text, ? any character")
      .type_name("PATTERN");
  add_execution_options(line, options->execution);
  add_json_option(line, options->json);
  return [options](Environment& environment) { return trace(*options, environment); };
}

}  // namespace pt2::tools
