#include "pt2/tools/stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/printable.h"
#include "tools/files.h"
#include "tools/json_members.h"
#include "tools/modules.h"
#include "tools/source.h"
#include "tools/table.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

constexpr size_t kListedOperators = 12;

struct StatsArguments {
  std::vector<std::string> files;
  Source source;
  bool modules = false;
  bool json = false;
};

struct FileStats {
  std::string file;
  std::string model;
  ProgramStats stats;
};

Result<std::vector<FileStats>> read_file(const StatsArguments& options, const std::string& name) {
  PT2_TRY(const Package package, Package::open(input_path(name), options.source.limits));
  std::vector<std::string> models(package.models().begin(), package.models().end());
  if (!options.source.model.empty()) {
    PT2_TRY(std::string model, package.model_name(options.source.model));
    models = {std::move(model)};
  }
  std::vector<FileStats> out;
  for (const std::string& model : models) {
    PT2_TRY(const Program* program, package.program(model));
    const auto payloads = package.payloads(model);
    out.push_back({name, models.size() > 1 ? model : "",
                   stats(*program, payloads ? payloads->get() : nullptr)});
  }
  return out;
}

std::string title(const FileStats& each) {
  return printable(each.file) + (each.model.empty() ? "" : ":" + printable(each.model));
}

std::string one_text(const StatsArguments& options, const FileStats& each) {
  const ProgramStats& stats = each.stats;
  TextTable about({{""}, {""}}, "  ");
  about.add({"nodes", std::to_string(stats.nodes)});
  for (const auto& [name, held] : held_by_name(stats))
    about.add({std::string(name),
               fmt::format("{} ({})", count_text(held->elements), bytes_text(held->bytes))});
  for (const auto& [dtype, sums] : stats.dtypes)
    about.add({dtype, counted(sums.tensors, "tensor") + ", " + bytes_text(sums.bytes)});
  about.add({"products", count_text(stats.multiply_adds) + " multiply-adds"});
  about.add({"activations", bytes_text(stats.peak_bytes) + " at a time, views counted as tensors"});
  if (stats.assumed_sizes) about.add({"sizes", "symbols as they were while exporting"});
  TextTable operators({{"OPERATOR"},
                       {"CALLS", Align::right},
                       {"MULTIPLY-ADDS", Align::right},
                       {"RESULTS", Align::right}});
  for (const OperatorStats& sums :
       std::span(stats.operators).first(std::min(stats.operators.size(), kListedOperators)))
    operators.add({printable(sums.target), std::to_string(sums.calls),
                   count_text(sums.multiply_adds), bytes_text(sums.result_bytes)});
  std::string out = title(each) + "\n" + about.text() + operators.text();
  if (stats.operators.size() > kListedOperators)
    out += fmt::format("and {}\n",
                       counted(stats.operators.size() - kListedOperators, "more operator"));
  if (!options.modules) return out;
  TextTable modules(
      {{"MODULE"}, {"CLASS"}, {"PARAMETERS", Align::right}, {"MULTIPLY-ADDS", Align::right}});
  for (const ModuleStats& sums : stats.modules)
    modules.add({sums.path.empty() ? "." : printable(sums.path), printable(sums.type),
                 count_text(sums.parameters), count_text(sums.multiply_adds)});
  return out + modules.text();
}

uint64_t held_bytes(const ProgramStats& stats) {
  uint64_t bytes = 0;
  for (const auto& [name, held] : held_by_name(stats)) bytes += held->bytes;
  return bytes;
}

std::string table_text(const std::vector<FileStats>& all) {
  TextTable table({{"FILE"},
                   {"NODES", Align::right},
                   {"PARAMETERS", Align::right},
                   {"BYTES", Align::right},
                   {"MULTIPLY-ADDS", Align::right},
                   {"ACTIVATIONS", Align::right}});
  for (const FileStats& each : all)
    table.add({title(each), std::to_string(each.stats.nodes),
               count_text(each.stats.parameters.elements), bytes_text(held_bytes(each.stats)),
               count_text(each.stats.multiply_adds), bytes_text(each.stats.peak_bytes)});
  return table.text();
}

void write_stats(JsonWriter& json, const FileStats& each) {
  const ProgramStats& stats = each.stats;
  write_text(json, "file", each.file);
  write_text(json, "model", each.model);
  write_integer(json, "nodes", stats.nodes);
  write_held(json, stats);
  write_integer(json, "multiply_adds", stats.multiply_adds);
  write_integer(json, "peak_bytes", stats.peak_bytes);
  write_flag(json, "assumed_sizes", stats.assumed_sizes);
  write_objects(json, "dtypes", stats.dtypes, [&](const auto& dtype) {
    write_text(json, "dtype", dtype.first);
    write_integer(json, "tensors", dtype.second.tensors);
    write_integer(json, "elements", dtype.second.elements);
    write_integer(json, "bytes", dtype.second.bytes);
  });
  write_objects(json, "operators", stats.operators, [&](const OperatorStats& sums) {
    write_text(json, "target", sums.target);
    write_integer(json, "calls", sums.calls);
    write_integer(json, "multiply_adds", sums.multiply_adds);
    write_integer(json, "result_bytes", sums.result_bytes);
  });
  write_objects(json, "modules", stats.modules, [&](const ModuleStats& sums) {
    write_text(json, "path", sums.path);
    write_text(json, "type", sums.type);
    write_integer(json, "parameters", sums.parameters);
    write_integer(json, "multiply_adds", sums.multiply_adds);
  });
}

Result<int> stats_of_files(const StatsArguments& options, Environment& environment) {
  PT2_TRY(const std::vector<std::string> files,
          list_files(options.files, kProgramEndings, environment));
  std::vector<std::optional<Result<std::vector<FileStats>>>> results(files.size());
  for_each_file(files.size(), environment,
                [&](size_t i) { results[i] = read_file(options, files[i]); });
  std::vector<FileStats> all;
  int code = kOk;
  for (auto& result : results) {
    if (!*result) {
      print_error(environment, result->error());
      code = std::max(code, exit_code(result->error().code));
      continue;
    }
    for (FileStats& each : **result) all.push_back(std::move(each));
  }
  if (options.json)
    print(environment.out, json_object([&](JsonWriter& json) {
            write_objects(json, "programs", all,
                          [&](const FileStats& each) { write_stats(json, each); });
          }));
  else if (all.size() == 1 || options.modules)
    for (size_t i = 0; i < all.size(); ++i)
      print(environment.out, (i > 0 ? "\n" : "") + one_text(options, all[i]));
  else if (!all.empty())
    print(environment.out, table_text(all));
  return code;
}

}  // namespace

Action setup_stats(CommandLine& line) {
  auto options = std::make_shared<StatsArguments>();
  line.add_option("FILE", options->files,
                  "files and folders; several make a table; - is standard input")
      .required();
  line.add_flag("--modules", options->modules, "print a line for each module, too");
  add_model_option(line, options->source);
  add_limit_option(line, options->source.limits);
  add_json_option(line, options->json);
  return [options](Environment& environment) { return stats_of_files(*options, environment); };
}

}  // namespace pt2::tools
