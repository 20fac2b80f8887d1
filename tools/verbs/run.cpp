#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>

#include "base/platform.h"
#include "base/printable.h"
#include "base/text.h"
#include "ops/table.h"
#include "pt2/format/zip.h"
#include "pt2/model.h"
#include "pt2/tensor_file.h"
#include "pt2/tools/run_trace.h"
#include "tools/execution.h"
#include "tools/json_members.h"
#include "tools/table.h"
#include "tools/values/inputs.h"
#include "tools/values/values.h"
#include "tools/verbs.h"
#include "tools/writing.h"

namespace pt2::tools {
namespace {

struct RunArguments {
  Execution execution;
  std::string output;
  std::string format;  // for standard output
  std::string state;
  std::optional<double> timeout;  // in seconds
  size_t top = 0;
  std::string labels;
  bool json = false;
};

// A century, which still fits the clock.
constexpr double kLongestTimeout = 3.2e9;

CallOptions call_options(const RunArguments& options, const Environment& environment) {
  CallOptions out;
  // Standard output is for the results.
  out.on_print = [&environment](std::string_view text) {
    for (bool is_last = false; !is_last;) {
      const size_t end = std::min(text.find('\n'), text.size());
      print(environment.err, printable_line(text.substr(0, end)) + "\n");
      is_last = end == text.size();
      text.remove_prefix(is_last ? end : end + 1);
    }
  };
  if (!options.timeout) return out;
  const std::chrono::duration<double> seconds(*options.timeout);
  out.deadline = std::chrono::steady_clock::now() +
                 std::chrono::duration_cast<std::chrono::steady_clock::duration>(seconds);
  return out;
}

// Returns an unused name: results may share a name, but names in a file must differ.
std::string unused_name(const std::string& name, std::set<std::string>& used) {
  std::string candidate = name;
  for (int number = 1; !used.insert(candidate).second; ++number)
    candidate = fmt::format("{}_{}", name, number);
  return candidate;
}

constexpr std::string_view kStandardOutput = "-";
constexpr std::string_view kUsualFormat = "npz";

// Returns the format of the output; nullopt if no output is written.
Result<std::optional<TensorFormat>> output_format(const RunArguments& options,
                                                  const Environment& environment) {
  if (options.output.empty() && options.format.empty()) return std::optional<TensorFormat>();
  if (options.output != kStandardOutput) {
    if (!options.format.empty())
      return Error{ErrorCode::argument, "--format is for -o -; the name of a file says its format",
                   options.output};
    PT2_TRY(const TensorFormat format, tensor_format_of(options.output));
    return std::optional(format);
  }
  if (options.json || options.top > 0)
    return Error{
        ErrorCode::argument,
        fmt::format("-o - and {} both write to standard output", options.json ? "--json" : "--top"),
        ""};
  PT2_TRY_VOID(check_takes_bytes(environment));
  PT2_TRY(
      const TensorFormat format,
      tensor_format_of(fmt::format(".{}", options.format.empty() ? kUsualFormat : options.format)));
  return std::optional(format);
}

Result<void> write_outputs(const std::string& path, TensorFormat format, const Model& model,
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
  if (path != kStandardOutput) return write_tensor_file(path, tensors);
  StringSink written;
  PT2_TRY_VOID(write_tensors(format, tensors, written));
  print(environment.out, written.bytes());
  return {};
}

// A parameter, buffer or constant that a call changed.
struct ChangedState {
  InputKind kind;
  std::string name;
  Tensor tensor;
};

// Compares only state with different memory: a session copies the state that the program writes.
std::vector<ChangedState> changed_state(const Model& model, const Session& session) {
  const Session fresh(model);
  std::vector<ChangedState> out;
  for (const InputSpec& spec : model.program().signature.input_specs) {
    if (!spec.target) continue;
    const Tensor *before = fresh.state(*spec.target), *after = session.state(*spec.target);
    if (before == nullptr || after == nullptr || !before->defined() || !after->defined() ||
        before->raw_data() == after->raw_data())
      continue;
    const Tensor a = before->contiguous(), b = after->contiguous();
    const auto bytes = [](const Tensor& tensor) {
      return std::span(tensor.raw_data(), static_cast<size_t>(tensor.nbytes()));
    };
    if (!std::ranges::equal(bytes(a), bytes(b))) out.push_back({spec.kind, *spec.target, *after});
  }
  return out;
}

Result<void> write_state(const std::string& path, const std::vector<ChangedState>& state) {
  NamedTensors tensors;
  for (const ChangedState& each : state) tensors.emplace_back(each.name, each.tensor);
  return write_tensor_file(path, tensors);
}

// Returns the tensor of which --top lists the largest scores; nullptr for other outputs, which are
// listed whole.
const Tensor* scores_of(const RunArguments& options, const Value& output) {
  const auto* tensor = output.get_if<Tensor>();
  return options.top > 0 && tensor != nullptr && score_count(*tensor) > 0 ? tensor : nullptr;
}

// Returns how many elements of an output are listed.
uint64_t listed_elements(const RunArguments& options, const Value& output) {
  const Tensor* tensor = scores_of(options, output);
  if (tensor == nullptr) return ops::elements_of({&output, 1});
  const size_t columns = score_count(*tensor);
  return static_cast<uint64_t>(tensor->numel()) / columns * std::min(options.top, columns);
}

// Refuses more elements, whose text would take gigabytes to write and to read.
Result<void> check_can_be_listed(const RunArguments& options, const std::vector<Value>& outputs,
                                 const std::vector<ChangedState>& state) {
  constexpr uint64_t kMostListed = 1 << 24;
  uint64_t count = 0;
  for (const Value& output : outputs)
    count = saturating_sum(count, listed_elements(options, output));
  for (const ChangedState& each : state)
    count = saturating_sum(count, static_cast<uint64_t>(each.tensor.numel()));
  if (count <= kMostListed) return {};
  return Error{ErrorCode::limit,
               fmt::format("--json: found results of {} elements, expected at most {}; write them "
                           "with -o FILE",
                           count, kMostListed),
               ""};
}

std::string outputs_json(const RunArguments& options, const Model& model,
                         const std::vector<std::string>& labels, const std::vector<Value>& outputs,
                         const std::vector<ChangedState>& state) {
  return json_object([&](JsonWriter& json) {
    write_text(json, "file", options.execution.source.file);
    size_t index = 0;
    write_objects(json, "outputs", outputs, [&](const Value& output) {
      write_text(json, "name", model.outputs()[index++].name);
      if (const Tensor* tensor = scores_of(options, output))
        write_top(json, *tensor, options.top, labels);
      else
        write_value(json, output);
    });
    write_objects(json, "changes", state, [&](const ChangedState& each) {
      write_text(json, "name", each.name);
      write_text(json, "kind", input_kind_name(each.kind));
      write_value(json, Value(each.tensor));
    });
  });
}

Result<std::vector<std::string>> read_labels(const std::string& path) {
  std::vector<std::string> labels;
  if (path.empty()) return labels;
  PT2_TRY(const Record record, map_file(path));
  std::string_view text = record.text();
  if (!is_utf8(text))
    return Error{ErrorCode::argument,
                 "--labels: found bytes that are no UTF-8, expected text with a name a line", path};
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    labels.emplace_back(text.substr(0, end));
    if (labels.back().ends_with('\r')) labels.back().pop_back();  // an editor of Windows
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  while (!labels.empty() && labels.back().empty()) labels.pop_back();
  return labels;
}

// Requires that one of the outputs has a score for each label.
Result<void> check_labels(const RunArguments& options, const std::vector<std::string>& labels,
                          const std::vector<Value>& outputs) {
  if (options.labels.empty() || options.top == 0) return {};
  size_t scores = 0;
  for (const Value& output : outputs) {
    const auto* tensor = output.get_if<Tensor>();
    const size_t count = tensor == nullptr ? 0 : score_count(*tensor);
    if (count > 0 && count == labels.size()) return {};
    if (scores == 0) scores = count;
  }
  if (scores == 0) return {};  // there are no scores to label
  return Error{ErrorCode::argument,
               fmt::format("--labels: found {} for {} scores, expected a line for each",
                           counted(labels.size(), "label"), scores),
               options.labels};
}

void print_outputs(const RunArguments& options, const Model& model,
                   const std::vector<std::string>& labels, const std::vector<Value>& outputs,
                   Environment& environment) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = model.outputs()[i].name;
    const Tensor* tensor = scores_of(options, outputs[i]);
    print(environment.out, tensor == nullptr ? value_text(name, outputs[i], environment)
                                             : top_text(name, *tensor, options.top, labels));
  }
}

Result<int> run(const RunArguments& options, Environment& environment) {
  // Checks the options before any computation.
  PT2_TRY(const std::optional<TensorFormat> format, output_format(options, environment));
  if (!options.state.empty()) {
    PT2_TRY_VOID(check_tensor_file("--state", options.state));
    const auto normal = [](const std::string& file) {
      return std::filesystem::path(file).lexically_normal();
    };
    if (normal(options.state) == normal(options.output))
      return usage_error("-o and --state name one file, which can hold only one of the two");
    PT2_TRY([[maybe_unused]] const TensorFormat state_format, tensor_format_of(options.state));
  }
  PT2_TRY(const std::vector<std::string> labels, read_labels(options.labels));
  PT2_TRY(PreparedCall call, prepare_call(options.execution, environment));
  const Model& model = call.model;
  Session session(model, call.inputs.session(options.execution.threads));
  session.seed(options.execution.seed);
  Result<std::vector<Value>> outputs =
      session.run(call.inputs.values, call_options(options, environment));
  if (!outputs) return std::move(outputs).error();
  PT2_TRY_VOID(check_labels(options, labels, *outputs));
  if (format) PT2_TRY_VOID(write_outputs(options.output, *format, model, *outputs, environment));
  const std::vector<ChangedState> state = changed_state(model, session);
  if (!options.state.empty()) PT2_TRY_VOID(write_state(options.state, state));
  if (options.json) {
    PT2_TRY_VOID(check_can_be_listed(options, *outputs, state));
    print(environment.out, outputs_json(options, model, labels, *outputs, state));
  } else if (options.output.empty() || options.top > 0) {
    print_outputs(options, model, labels, *outputs, environment);
    if (options.top > 0) return kOk;
    for (const ChangedState& each : state)
      print(environment.out, value_text(fmt::format("{} {}", input_kind_name(each.kind), each.name),
                                        Value(each.tensor), environment));
  }
  return kOk;
}

}  // namespace

Action setup_run(CommandLine& line) {
  auto options = std::make_shared<RunArguments>();
  add_source(line, options->execution.source);
  add_input_options(line, options->execution.inputs);
  line.add_option("-o,--output", options->output,
                  "write the outputs to this .npz or .safetensors file\n"
                  "(.npy for a single one); - is standard output")
      .type_name("FILE");
  line.add_option("--format", options->format,
                  "the format of -o -: npz (the default), safetensors or npy")
      .type_name("NAME")
      .one_of({"npz", "safetensors", "npy"});
  line.add_option("--state", options->state,
                  "write the buffers and parameters that the call changed to this\n"
                  ".npz or .safetensors file")
      .type_name("FILE");
  add_engine_options(line, options->execution.engine, options->execution.threads);
  add_execution_options(line, options->execution);
  line.add_option("--timeout", options->timeout,
                  "give up, with exit 5, when the call has not ended by then; the file\n"
                  "is loaded before, and an operator that runs is not interrupted")
      .type_name("SECONDS")
      .range(0.0, kLongestTimeout);
  Option top = line.add_option("--top", options->top,
                               "print the N largest scores of each row, not all numbers")
                   .type_name("N")
                   .range(1, std::numeric_limits<double>::infinity());
  line.add_option("--labels", options->labels,
                  "for --top: a text file with the name of one class a line")
      .type_name("FILE")
      .needs(top);
  add_json_option(line, options->json);
  return [options](Environment& environment) { return run(*options, environment); };
}

}  // namespace pt2::tools
