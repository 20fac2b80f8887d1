#include "tools/run_diff.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "ir/target.h"
#include "pt2/tools/diff.h"
#include "pt2/tools/run_diff.h"
#include "tools/execution.h"
#include "tools/json_members.h"
#include "tools/plugins.h"
#include "tools/table.h"

namespace pt2::tools {
namespace {

// Returns "a -> b", or one text if both are equal or one is empty.
std::string change_text(std::string_view before, std::string_view after) {
  if (before.empty() || before == after) return printable(after);
  return printable(after.empty() ? std::string(before) : fmt::format("{} -> {}", before, after));
}

// Omits the distance for different types and for NaN, which have none.
std::string comparison_text(const Comparison& comparison) {
  const std::string text = comparison.equal() ? "equal" : printable(comparison.difference, 400);
  if (!comparison.equal() && comparison.largest_error == 0) return text;
  return fmt::format("{}; largest difference {:.3g}, relative {:.3g}", text,
                     comparison.largest_error, comparison.largest_relative_error);
}

std::string first_text(const RunDifference::First& first) {
  const NodePlace &before = first.before, &after = first.after;
  std::string out =
      fmt::format("%{} ({})", change_text(before.name, after.name),
                  change_text(short_target(before.target), short_target(after.target)));
  if (!after.module_path.empty() || !before.module_path.empty())
    out += " of " + change_text(before.module_path, after.module_path);
  if (!after.source_line.empty() || !before.source_line.empty())
    out += " at " + change_text(before.source_line, after.source_line);
  return fmt::format("{}, {}: {}", out, first.type, comparison_text(first.comparison));
}

std::string values_text(size_t count) { return counted(count, "value"); }

void print_difference(const RunDifference& difference, Environment& environment) {
  const auto print_line = [&](bool equal, const std::string& text) {
    const std::string line = (equal ? "= " : "~ ") + text;
    print(environment.out, (equal ? line : coloured(environment, Colour::yellow, line)) + "\n");
  };
  for (const OutputDifference& output : difference.outputs)
    print_line(output.comparison.equal(),
               fmt::format("output {}, {}: {}", change_text(output.before, output.after),
                           output.type, comparison_text(output.comparison)));
  std::string counts = values_text(difference.agreeing) + " equal";
  if (difference.first) {
    print_line(false, "first: " + first_text(*difference.first));
    counts += fmt::format(" before it, {} of {} after it differ", difference.later_differing,
                          difference.later);
  }
  if (difference.unpaired > 0) counts += fmt::format(", {} not compared", difference.unpaired);
  print(environment.out, counts + "\n");
}

void write_comparison(JsonWriter& json, const std::string& type, const Comparison& comparison) {
  write_text(json, "type", type);
  write_flag(json, "equal", comparison.equal());
  write_text(json, "difference", comparison.difference);
  write_number(json, "largest_error", comparison.largest_error);
  write_number(json, "largest_relative_error", comparison.largest_relative_error);
}

void write_place(JsonWriter& json, std::string_view key, const NodePlace& place) {
  json.key(key);
  json.begin_object();
  write_text(json, "value", place.name);
  write_text(json, "target", place.target);
  write_text(json, "module_path", place.module_path);
  write_text(json, "source_line", place.source_line);
  json.end_object();
}

void write_difference(JsonWriter& json, const RunDifference& difference) {
  write_flag(json, "equal", difference.outputs_equal());
  write_objects(json, "outputs", difference.outputs, [&](const OutputDifference& output) {
    write_text(json, "before", output.before);
    write_text(json, "after", output.after);
    write_comparison(json, output.type, output.comparison);
  });
  if (difference.first) {
    json.key("first_difference");
    json.begin_object();
    write_place(json, "before", difference.first->before);
    write_place(json, "after", difference.first->after);
    write_comparison(json, difference.first->type, difference.first->comparison);
    json.end_object();
  }
  write_integer(json, "agreeing", difference.agreeing);
  write_integer(json, "later", difference.later);
  write_integer(json, "later_differing", difference.later_differing);
  write_integer(json, "not_compared", difference.unpaired);
}

// Loads the reference engine: an observer must see every node, so no plan is made.
Result<Model> load(const Source& source, const RunDiffOptions& options, Environment& environment) {
  PT2_TRY(CustomOperators operators, load_operators(options.libraries));
  PT2_TRY(Package package, open_package(source, environment));
  Result<Model> model =
      load_model(std::move(package), source, std::move(operators), EngineKind::reference);
  if (!model) return in_file(std::move(model).error(), source.file);
  return model;
}

}  // namespace

void add_run_diff_options(CommandLine& line, RunDiffOptions& options) {
  Option run = line.add_flag("--run", options.run,
                             "run both on the same inputs, by position: are the outputs equal,\n"
                             "and which node's value differs first?");
  add_input_options(line, options.inputs).needs(run);
  line.add_option("--seed", options.seed, "seed of the random operators and inputs of --run")
      .type_name("N")
      .needs(run);
  add_ops_option(line, options.libraries).needs(run);
}

Result<int> diff_runs_of(const Source& before, const Source& after, const RunDiffOptions& options,
                         bool as_json, Environment& environment) {
  PT2_TRY(const Model left, load(before, options, environment));
  PT2_TRY(const Model right, load(after, options, environment));
  PT2_TRY(const CallInputs inputs,
          options.inputs.arguments.empty()
              ? sample_or_random_inputs(left, before.model, options.seed, environment)
              : read_inputs(left, options.inputs, before.limits));
  Session old_run(left, inputs.session()), new_run(right, inputs.session());
  old_run.seed(options.seed);
  new_run.seed(options.seed);
  PT2_TRY(
      const RunDifference difference,
      diff_runs(old_run, new_run, inputs.values, paired_values(left.program(), right.program())));
  if (as_json)
    print(environment.out, json_object([&](JsonWriter& json) {
            write_text(json, "before", before.file);
            write_text(json, "after", after.file);
            write_difference(json, difference);
          }));
  else
    print_difference(difference, environment);
  return difference.outputs_equal() ? kOk : kDifference;
}

}  // namespace pt2::tools
