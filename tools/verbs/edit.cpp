#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/printable.h"
#include "base/text.h"
#include "change/contents.h"
#include "change/sizes.h"
#include "ops/bind.h"
#include "package/payload_readers.h"
#include "pt2/check_inputs.h"
#include "pt2/ir/edit_program.h"
#include "pt2/tools/weights.h"
#include "tools/values/inputs.h"
#include "tools/verbs.h"
#include "tools/writing.h"

namespace pt2::tools {
namespace {

struct EditArguments {
  Writing writing;
  std::vector<std::string> dims, inputs, outputs, arguments, exposed, from, to;
  std::string module;
  std::optional<std::string> device;

  bool takes_part() const { return !from.empty() || !to.empty() || !module.empty(); }
};

Error wrong(std::string_view option, const std::string& found, std::string_view expected) {
  return {ErrorCode::argument,
          fmt::format("{}: found '{}', expected {}", option, printable(found), expected), ""};
}

// Parses "1..64", "2..", but not "7".
std::optional<SymRange> parse_range(std::string_view text) {
  const size_t dots = text.find("..");
  if (dots == text.npos) return std::nullopt;
  SymRange range;
  const std::string_view low = text.substr(0, dots), high = text.substr(dots + 2);
  if (!low.empty() && !(range.min = parse_int(low))) return std::nullopt;
  if (!high.empty() && !(range.max = parse_int(high))) return std::nullopt;
  return range;
}

// Parses "x.0" or "x.0,y.0"; returns nothing if it is not of this form.
std::vector<InputDim> parse_dims(std::string_view text) {
  std::vector<InputDim> dims;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(',', start), text.size());
    const std::string_view place = text.substr(start, end - start);
    const size_t dot = place.rfind('.');
    const auto dim = dot == place.npos ? std::nullopt : parse_int(place.substr(dot + 1));
    if (!dim || *dim < 0) return {};
    dims.push_back({place.substr(0, dot), static_cast<size_t>(*dim)});
    start = end + 1;
  }
  return dims;
}

// Applies "x.0=4", "x.0=batch:1..64" or "x.0=1..64", or the same to several sizes: "x.0,y.0=4".
Result<std::string> edit_dim(Program& program, const std::string& text) {
  const Error fault = wrong("--dim", text, "INPUT.DIM=SIZE or INPUT.DIM=NAME:LOW..HIGH");
  const size_t sign = text.find('=');
  if (sign == text.npos) return fault;
  const std::vector<InputDim> dims = parse_dims(std::string_view(text).substr(0, sign));
  if (dims.empty()) return fault;
  std::vector<std::string> names;
  for (const auto& [input, dim] : dims) names.push_back(fmt::format("size {} of {}", dim, input));
  const std::string subject =
      fmt::format("{} {}", fmt::join(names, ", "), dims.size() == 1 ? "is" : "are");
  const std::string value = text.substr(sign + 1);
  if (const auto size = parse_int(value)) {
    for (const auto& [input, dim] : dims) PT2_TRY_VOID(fix_dim(program, input, dim, *size));
    return fmt::format("{} {}", subject, *size);
  }
  const size_t colon = value.find(':');
  const std::string symbol = colon == value.npos ? "" : value.substr(0, colon);
  const auto range = parse_range(colon == value.npos ? value : value.substr(colon + 1));
  if (!range) return fault;
  if (symbol.empty()) {
    for (const auto& [input, dim] : dims) PT2_TRY_VOID(set_range(program, input, dim, *range));
  } else if (dims.size() == 1) {
    PT2_TRY_VOID(free_dim(program, dims[0].input, dims[0].dim, symbol, *range));
  } else {
    PT2_TRY_VOID(free_dims(program, dims, symbol, *range));
  }
  // A size that is a symbol already keeps the symbol's name.
  PT2_TRY(const ValueId id, find_input_value(program, dims[0].input));
  PT2_TRY(const SymInt size, input_size(program, id, dims[0].dim));
  return fmt::format("{} {} within {}", subject, pt2::print(size), pt2::print(*range));
}

using Rename = Result<void> (*)(Program&, std::string_view, std::string_view);

Result<std::string> edit_pair(Program& program, std::string_view option, std::string_view form,
                              const std::string& text, Rename edit) {
  const size_t sign = text.find('=');
  if (sign == text.npos) return wrong(option, text, form);
  const std::string old_name = text.substr(0, sign), new_name = text.substr(sign + 1);
  PT2_TRY_VOID(edit(program, old_name, new_name));
  return fmt::format("{} is now {}", old_name, new_name);
}

Result<Device> parse_device(const std::string& text) {
  if (auto device = ops::find_device(text)) return *std::move(device);
  return wrong("--device", text,
               fmt::format("one of {}, with an index where there are several: cuda:0",
                           fmt::join(ops::device_types(), ", ")));
}

Result<std::vector<std::string>> edit_all(const EditArguments& options, Program& program) {
  std::vector<std::string> lines;
  const auto add = [&](Result<std::string> line) -> Result<void> {
    if (!line) return std::move(line).error();
    lines.push_back(*std::move(line));
    return {};
  };
  for (const std::string& text : options.arguments)
    PT2_TRY_VOID(add(edit_pair(program, "--set", "VALUE.ARGUMENT=CONSTANT", text, set_argument)));
  for (const std::string& text : options.dims) PT2_TRY_VOID(add(edit_dim(program, text)));
  if (!options.module.empty() && !(options.from.empty() && options.to.empty()))
    return usage_error(
        "--module cuts out a part, and so do --from and --to: give one or the other");
  if (!options.module.empty()) {
    PT2_TRY_VOID(extract_module(program, options.module));
    lines.push_back("only what " + options.module + " computes");
  } else if (options.takes_part()) {
    PT2_TRY_VOID(extract(program, options.from, options.to));
    const std::string to = fmt::format("{}", fmt::join(options.to, ", "));
    lines.push_back(options.from.empty()
                        ? "only what computes " + to
                        : fmt::format("from {} to {}", fmt::join(options.from, ", "), to));
  }
  if (!options.exposed.empty()) PT2_TRY_VOID(add_outputs(program, options.exposed));
  for (const std::string& name : options.exposed) lines.push_back(name + " is a result, too");
  for (const std::string& text : options.inputs)
    PT2_TRY_VOID(add(edit_pair(program, "--rename-input", "OLD=NEW", text, rename_input)));
  for (const std::string& text : options.outputs)
    PT2_TRY_VOID(add(edit_pair(program, "--rename-output", "OLD=NEW", text, rename_output)));
  if (options.device) {
    PT2_TRY(const Device device, parse_device(*options.device));
    set_device(program, device);
    lines.push_back("everything is on " + *options.device);
  }
  return lines;
}

// True if the example inputs have the sizes that the program fixes, or cannot be compared.
bool samples_fit(const Package& package, const Program& program, const std::string& model) {
  Diagnostics ignored;
  const auto samples = package.sample_inputs(ignored, model);
  const InputConditions conditions(program);
  if (!samples || samples->leaves.size() != conditions.names().size()) return true;
  const Result<std::vector<Value>> values = sample_values(*samples);
  if (!values) return true;
  std::vector<InputShape> shapes;
  std::ranges::transform(*values, std::back_inserter(shapes), input_shape);
  return conditions.check(shapes).has_value();
}

Result<int> edit(const EditArguments& options, Environment& environment) {
  const Writing& writing = options.writing;
  if (writing.check && options.takes_part())
    return usage_error("--check compares the results of whole programs, and a part has others");
  PT2_TRY(const Package package, open_package(writing.source, environment));
  print_foreign_code(environment, package);
  PT2_TRY_VOID(check_can_change(package, writing.source.file));
  PT2_TRY(const std::string model, chosen_model(writing.source, package));
  PT2_TRY(PackageContents contents, package_contents(package));
  PT2_TRY(const size_t index, find_saved(contents, model));
  SavedProgram& saved = contents.programs[index];
  PT2_TRY(const Program* original, package.program(model));
  Program program = *original;
  PT2_TRY(std::vector<std::string> lines, edit_all(options, program));
  if (lines.empty())
    return Error{ErrorCode::argument, "expected an option that says what to change, such as --dim",
                 ""};
  saved.json = program_json(program);
  if (options.device) {
    PT2_TRY_VOID(list_tensors(saved));
    PT2_TRY(const Device device, parse_device(*options.device));
    const std::string text = device_text(device.type, device.index);
    for_each_tensor(saved, [&](SavedTensor& each) { each.device = text; });
  }
  if (options.takes_part()) {
    // The example inputs belong to the whole program.
    saved.sample_inputs = {};
    PT2_TRY([[maybe_unused]] const ChangeLines unused, strip(contents, {.unused = true}));
  } else if (!saved.sample_inputs.bytes.empty() && !samples_fit(package, program, model)) {
    saved.sample_inputs = {};
    lines.emplace_back("the example inputs are left out: they have other sizes");
  }
  return write_changed(writing, package, contents, lines, environment);
}

}  // namespace

Action setup_edit(CommandLine& line) {
  auto options = std::make_shared<EditArguments>();
  add_source(line, options->writing.source);
  const auto add = [&](const char* name, std::vector<std::string>& values, const char* text,
                       const char* type) {
    line.add_option(name, values, text).type_name(type).one_at_a_time();
  };
  add("--dim", options->dims,
      "x.0=4 fixes size 0 of input x; x.0=batch:1..64 makes a symbol of\nit; x.0=1..64 narrows the "
      "range of its symbol; x.0,y.0=batch:1..64\nmakes one symbol of both",
      "EDIT");
  add("--set", options->arguments,
      "add.other=3 changes an argument of the node that computes 'add'", "EDIT");
  add("--rename-input", options->inputs, "OLD=NEW: another name for an input", "EDIT");
  add("--rename-output", options->outputs,
      "OLD=NEW: another name for a result (the key of a dict, or\n"
      "else its value's); OLD may be its position",
      "EDIT");
  add("--expose", options->exposed, "return this value, too, after the other results", "VALUE");
  add("--to", options->to, "cut out the part that computes these values; they are its results",
      "VALUE");
  add("--from", options->from, "for --to: the values (or inputs) that the part starts from",
      "VALUE");
  line.add_option("--module", options->module,
                  "cut out the part that this module computes; 'pt2 info --modules'\nlists them")
      .type_name("PATH");
  line.add_option("--device", options->device, "record this device for every tensor: cpu, cuda:0")
      .type_name("DEVICE");
  add_model_option(line, options->writing.source);
  add_writing_options(line, options->writing);
  return [options](Environment& environment) { return edit(*options, environment); };
}

}  // namespace pt2::tools
