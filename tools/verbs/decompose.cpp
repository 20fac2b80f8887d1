#include "pt2/ir/decompose.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "package/shared_memory.h"
#include "pt2/save.h"
#include "tools/json_members.h"
#include "tools/source.h"
#include "tools/table.h"
#include "tools/verbs.h"
#include "tools/writing.h"

namespace pt2::tools {
namespace {

constexpr int kLeft = 4;

struct DecomposeArguments {
  Source source;
  std::string output;
  std::vector<std::string> to;
  bool json = false;
};

struct Report {
  std::vector<LeftOperator> left;
  size_t nodes_before = 0;
  size_t nodes_after = 0;
};

// Decomposes every program of the package.
Result<PackageContents> decomposed(const DecomposeArguments& options, const Package& package,
                                   Report& report) {
  PT2_TRY(PackageContents contents, package_contents(package));
  for (SavedProgram& saved : contents.programs) {
    PT2_TRY(const Program* program, package.program(saved.name));
    PT2_TRY(std::shared_ptr<const Payloads> payloads, package.payloads(saved.name));
    const DecomposeOptions wanted{.to = options.to,
                                  .storage_of = storage_numbers(std::move(payloads)),
                                  .limits = options.source.limits};
    PT2_TRY(Decomposition done, decompose(*program, wanted));
    report.nodes_before += program->graph.nodes().size();
    report.nodes_after += done.program.graph.nodes().size();
    for (LeftOperator& each : done.left) report.left.push_back(std::move(each));
    if (done.changed) saved.json = program_json(done.program);
  }
  return contents;
}

std::string report_json(const Report& report) {
  return json_object([&](JsonWriter& json) {
    write_integer(json, "nodes_before", report.nodes_before);
    write_integer(json, "nodes_after", report.nodes_after);
    write_objects(json, "left", report.left, [&](const LeftOperator& each) {
      write_text(json, "text", each.text);
      write_text(json, "where", each.where);
      write_text(json, "node", each.node.name);
      write_text(json, "target", each.node.target);
      write_text(json, "source_line", each.node.source_line);
    });
  });
}

Result<int> decompose_file(const DecomposeArguments& options, Environment& environment) {
  PT2_TRY(const Package package, open_package(options.source, environment));
  PT2_TRY_VOID(check_can_change(package, options.source.file));
  Report report;
  PT2_TRY(const PackageContents contents, decomposed(options, package, report));
  std::FILE* printed =
      is_written_to(options.output, environment.out) ? environment.err : environment.out;
  if (options.json) print(printed, report_json(report));
  if (!report.left.empty()) {
    print(environment.err, "pt2: not every operator can be decomposed; nothing was written\n");
    for (const LeftOperator& each : report.left)
      print(environment.err, fmt::format("pt2: {}\n", printable(each.line(), 2000)));
    for (const LeftOperator& each : report.left) {
      const std::string remedy = limit_remedy(ErrorCode::limit, each.text);
      if (remedy.empty()) continue;
      print(environment.err, fmt::format("pt2: {}\n", remedy));
      break;
    }
    return kLeft;
  }
  PT2_TRY_VOID(save_written(contents, options.output, environment));
  if (!options.json)
    print(printed, fmt::format("{}: {}, {} before\n", printable(shown_output(options.output)),
                               counted(report.nodes_after, "node"), report.nodes_before));
  return kOk;
}

}  // namespace

Action setup_decompose(CommandLine& line) {
  auto options = std::make_shared<DecomposeArguments>();
  options->to = {"core"};
  add_source(line, options->source);
  add_written_option(line, options->output).required();
  line.add_option("--to", options->to,
                  "the operators that may stay, with commas between: core (all\n"
                  "that PyTorch does not make of others; the default) and names\n"
                  "such as aten.linear")
      .type_name("NAMES")
      .separated_by(',');
  add_json_option(line, options->json);
  return [options](Environment& environment) { return decompose_file(*options, environment); };
}

}  // namespace pt2::tools
