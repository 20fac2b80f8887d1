#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "base/json.h"
#include "base/mapped_file.h"
#include "ir/graph_place.h"
#include "pt2/tensor_file.h"
#include "pt2/tools/diff.h"
#include "pt2/tools/drawing.h"
#include "tools/source.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

struct GraphArguments {
  Source source;
  std::string output;
  std::string profile;
  std::string trace;
  std::string other;
  std::optional<size_t> depth;
  bool no_statistics = false;
  bool json = false;
};

enum class Format : uint8_t { page, svg, dot };

Result<Format> format_of(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending == ".html" || ending == ".htm") return Format::page;
  if (ending == ".svg") return Format::svg;
  if (ending == ".dot" || ending == ".gv") return Format::dot;
  return Error{
      ErrorCode::argument,
      fmt::format("-o: found '{}', expected a name that ends in .html, .svg or .dot", path), ""};
}

// Reads the member "profile" of the output of `pt2 bench --profile --json`, for the page.
Result<void> read_profile(const std::string& path, PageProgram& page) {
  if (path.empty()) return {};
  PT2_TRY(const auto file, MappedFile::open(path));
  Result<JsonValue> json =
      parse_json({reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()});
  if (!json) return in_file(std::move(json).error(), path);
  const JsonValue* steps = json->find("profile");
  if (steps == nullptr || !steps->is_array())
    return Error{ErrorCode::malformed,
                 "found no list 'profile', expected what 'pt2 bench --profile --json' prints",
                 path};
  for (const JsonValue& step : steps->items) {
    const JsonValue* node = step.find("node");
    const JsonValue* time = step.find("us");
    if (node == nullptr || time == nullptr || !node->is_string()) continue;
    const Result<double> us = time->get_float();
    if (!us) return in_file(us.error(), path);
    page.times[node->text] += *us;
    const JsonValue* names = step.find("names");
    if (names == nullptr || !names->is_array()) continue;
    for (const JsonValue& name : names->items)
      if (name.is_string() && name.text != node->text) page.joined[name.text] = node->text;
  }
  return {};
}

// Returns the ranges of the tensors in an output file of `pt2 trace -o`.
Result<std::map<std::string, TensorRange>> read_ranges(const std::string& path,
                                                       const Limits& limits) {
  std::map<std::string, TensorRange> ranges;
  if (path.empty()) return ranges;
  Result<NamedTensors> tensors = read_tensor_file(path, limits);
  const bool is_other = !tensors && (tensors.error().code == ErrorCode::unsupported ||
                                     tensors.error().code == ErrorCode::malformed);
  if (is_other)
    return Error{ErrorCode::malformed,
                 tensors.error().message + "; expected what 'pt2 trace -o' wrote",
                 tensors.error().where};
  if (!tensors) return std::move(tensors).error();
  for (const auto& [name, tensor] : *tensors) ranges[name] = tensor_range(tensor);
  return ranges;
}

// Error `argument` for a trace of another program, which would be invisible in the page.
Result<void> check_traced(const GraphArguments& options, const std::vector<PageProgram>& programs) {
  const auto is_traced = [](const PageProgram& program) {
    return std::ranges::any_of(program.drawing->values, [&](const DrawnValue& drawn) {
      return drawn.value != nullptr && program.ranges.contains(drawn.value->name);
    });
  };
  if (options.trace.empty() || std::ranges::any_of(programs, is_traced)) return {};
  return Error{ErrorCode::argument,
               "--trace: found no value of the program in it, expected what 'pt2 trace -o' wrote "
               "of this file",
               options.trace};
}

// Error `argument` for a profile of another program, or of the reference engine, which has no
// steps.
Result<void> check_profiled(const GraphArguments& options,
                            const std::vector<PageProgram>& programs) {
  const auto is_profiled = [](const PageProgram& program) {
    return std::ranges::any_of(program.drawing->boxes, [&](const Box& box) {
      return box.node != nullptr && program.times.contains(node_name(*box.graph, *box.node));
    });
  };
  if (options.profile.empty() || std::ranges::any_of(programs, is_profiled)) return {};
  return Error{ErrorCode::argument,
               "--profile: found no step of the program in it, expected what 'pt2 bench --profile "
               "--json' printed of this file",
               options.profile};
}

// Returns the difference to the program of that name in the other file, or to its only program.
Result<std::optional<DrawnDifference>> read_difference(const GraphArguments& options,
                                                       const std::optional<Package>& other,
                                                       const Package& package,
                                                       const std::string& name) {
  std::optional<DrawnDifference> out;
  if (!other) return out;
  const bool has_one = other->models().size() == 1 && package.models().size() == 1;
  if (!has_one && !other->model_name(name)) return out;
  PT2_TRY(const Program* program, package.program(name));
  PT2_TRY(const Difference difference,
          diff(*other, package,
               {.weights = !options.no_statistics, .model = has_one ? std::string() : name}));
  out = drawn_difference(*program, difference);
  return out;
}

// One drawing for each requested program.
struct Pictures {
  std::vector<Drawing> drawings;
  std::vector<std::shared_ptr<const Payloads>> payloads;
  std::vector<PageProgram> programs;
};

Result<Pictures> draw_programs(const GraphArguments& options, const Package& package, bool all,
                               Environment& environment) {
  std::vector<std::string> names(package.models().begin(), package.models().end());
  if (!all || !options.source.model.empty()) {
    PT2_TRY(const std::string name, chosen_model(options.source, package));
    names = {name};
  }
  PageProgram measured;
  PT2_TRY_VOID(read_profile(options.profile, measured));
  PT2_TRY(const auto ranges, read_ranges(options.trace, options.source.limits));
  std::optional<Package> other;
  if (!options.other.empty()) {
    Source source{.file = options.other, .limits = options.source.limits};
    PT2_TRY(other, open_package(source, environment));
  }
  Pictures pictures;
  for (const std::string& name : names) {
    PT2_TRY(const Program* program, package.program(name));
    pictures.drawings.push_back(draw(*program, {.depth = options.depth}));
    pictures.payloads.emplace_back();
    if (options.no_statistics) continue;
    // A picture can be drawn without the weights.
    const auto payloads = package.payloads(name);
    if (payloads)
      pictures.payloads.back() = *payloads;
    else
      print_error(environment, payloads.error());
  }
  for (size_t i = 0; i < names.size(); ++i) {
    PT2_TRY(auto difference, read_difference(options, other, package, names[i]));
    pictures.programs.push_back({.name = names[i],
                                 .drawing = &pictures.drawings[i],
                                 .payloads = pictures.payloads[i].get(),
                                 .times = measured.times,
                                 .joined = measured.joined,
                                 .ranges = ranges,
                                 .difference = std::move(difference)});
  }
  PT2_TRY_VOID(check_traced(options, pictures.programs));
  PT2_TRY_VOID(check_profiled(options, pictures.programs));
  const auto differs = [](const PageProgram& program) { return program.difference.has_value(); };
  if (other && std::ranges::none_of(pictures.programs, differs))
    return Error{ErrorCode::argument,
                 fmt::format("--diff: found no program of the name {}, expected an older version "
                             "of this file",
                             fmt::join(names, " or ")),
                 options.other};
  return pictures;
}

Result<int> graph(const GraphArguments& options, Environment& environment) {
  Format format = Format::page;
  if (!options.output.empty()) {
    PT2_TRY(format, format_of(options.output));
  } else if (!options.json) {
    return Error{ErrorCode::argument,
                 "expected -o FILE, which ends in .html, .svg or .dot, or --json", ""};
  }
  const bool all = options.json || format == Format::page;
  if (!all && !(options.profile.empty() && options.trace.empty() && options.other.empty()))
    return usage_error(
        "--profile, --trace and --diff are for -o FILE.html and --json; other pictures show "
        "nothing of them");
  PT2_TRY_VOID(check_one_standard_input(std::vector{options.source.file, options.other}));
  PT2_TRY(const Package package, open_package(options.source, environment));
  PT2_TRY(const Pictures pictures, draw_programs(options, package, all, environment));
  const std::string title = std::filesystem::path(options.source.file).filename().string();
  if (options.json) print(environment.out, print_drawing_json(pictures.programs));
  if (options.output.empty()) return kOk;
  const std::string text = format == Format::page  ? print_page(pictures.programs, title)
                           : format == Format::svg ? print_svg(pictures.drawings[0], title)
                                                   : print_dot(pictures.drawings[0], title);
  PT2_TRY_VOID(write_file(options.output, std::as_bytes(std::span(text)),
                          {options.source.file, options.other, options.profile, options.trace}));
  return kOk;
}

}  // namespace

Action setup_graph(CommandLine& line) {
  auto options = std::make_shared<GraphArguments>();
  add_source(line, options->source);
  line.add_option("-o,--output", options->output,
                  "the picture: a page to look around in (.html), a picture\n"
                  "for documents (.svg) or text for Graphviz (.dot)")
      .type_name("FILE");
  line.add_option("--depth", options->depth,
                  "open the boxes of the first N levels; if not given, as many\n"
                  "as make a clear picture")
      .type_name("N");
  line.add_option("--profile", options->profile,
                  "colour the page by time: what 'pt2 bench --profile --json'\nprinted")
      .type_name("JSON");
  line.add_option("--trace", options->trace,
                  "show the range of each value: what 'pt2 trace -o' wrote")
      .type_name("TENSORS");
  line.add_option(
          "--diff", options->other,
          "colour the page by what differs from this older file, as\n'pt2 diff OLD FILE' finds it")
      .type_name("OLD");
  line.add_flag("--no-statistics", options->no_statistics,
                "do not read the weights, for their ranges and for --diff");
  add_model_option(line, options->source);
  add_json_option(line, options->json);
  return [options](Environment& environment) { return graph(*options, environment); };
}

}  // namespace pt2::tools
