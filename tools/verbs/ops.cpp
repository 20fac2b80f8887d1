#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "pt2/operators.h"
#include "tools/json_members.h"
#include "tools/source.h"
#include "tools/table.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

struct Options {
  Source source;
  bool missing = false;
  bool json = false;
};

std::string used_text(const std::vector<OperatorUse>& uses) {
  TextTable table({{"CALLS", Align::right}, {"OPERATOR"}, {"KERNEL"}});
  for (const OperatorUse& use : uses)
    table.add({std::to_string(use.calls.size()), printable(use.target),
               use.has_kernel ? "yes" : "missing"});
  return table.text();
}

std::string missing_text(const std::vector<OperatorUse>& uses) {
  TextTable table({{"OPERATOR"}, {"NODE"}, {"SOURCE"}, {"MODULE"}});
  for (const OperatorUse& use : uses)
    for (const OperatorCall& call : use.calls)
      table.add({printable(use.target), printable(call.node), printable(call.source_line),
                 printable(call.module_path)});
  return table.text();
}

std::string uses_json(const std::string& file, const std::vector<OperatorUse>& uses) {
  return json_object([&](JsonWriter& json) {
    write_text(json, "file", file);
    write_objects(json, "operators", uses, [&](const OperatorUse& use) {
      write_text(json, "target", use.target);
      write_flag(json, "has_kernel", use.has_kernel);
      write_objects(json, "calls", use.calls, [&](const OperatorCall& call) {
        write_text(json, "node", call.node);
        write_text(json, "source_line", call.source_line);
        write_text(json, "module_path", call.module_path);
      });
    });
  });
}

Result<int> list_operators(const Options& options, Environment& environment) {
  PT2_TRY(const Package package, open_package(options.source, environment));
  PT2_TRY(const Program* program, package.program(options.source.model));
  std::vector<OperatorUse> uses = operators_used(*program);
  if (options.missing) std::erase_if(uses, [](const OperatorUse& use) { return use.has_kernel; });
  if (options.json)
    print(environment.out, uses_json(options.source.file, uses));
  else
    print(environment.out, uses.empty()      ? ""
                           : options.missing ? missing_text(uses)
                                             : used_text(uses));
  return options.missing && !uses.empty() ? exit_code(ErrorCode::unsupported) : kOk;
}

}  // namespace

Action setup_ops(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_source(app, options->source);
  app.add_flag("--missing", options->missing,
               "only calls of operators without a kernel; exit 4 if there are any");
  add_model_option(app, options->source);
  add_json_option(app, options->json);
  return [options](Environment& environment) { return list_operators(*options, environment); };
}

}  // namespace pt2::tools
