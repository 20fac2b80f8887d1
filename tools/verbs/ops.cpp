#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "pt2/ops/operators.h"
#include "tools/files.h"
#include "tools/json_members.h"
#include "tools/plugins.h"
#include "tools/source.h"
#include "tools/table.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

struct OpsArguments {
  std::vector<std::string> files;
  std::vector<std::string> libraries;
  std::string model;
  Limits limits;
  bool missing = false;
  bool json = false;
};

std::string_view origin_text(OperatorInfo::Origin origin) {
  switch (origin) {
    case OperatorInfo::Origin::build:
      return "build";
    case OperatorInfo::Origin::higher_order:
      return "higher order";
    case OperatorInfo::Origin::custom:
      return "custom";
  }
  return "";
}

int list_available(const CustomOperators& operators, bool as_json, Environment& environment) {
  const std::vector<OperatorInfo> all = available_operators(operators);
  if (as_json) {
    print(environment.out, json_object([&](JsonWriter& json) {
            write_objects(json, "operators", all, [&](const OperatorInfo& op) {
              write_text(json, "target", op.target);
              write_text(json, "signature", op.signature);
              write_text(json, "origin", origin_text(op.origin));
              write_flag(json, "has_rule", op.has_rule);
            });
          }));
    return kOk;
  }
  TextTable table({{"OPERATOR"}, {"ORIGIN"}, {"SIZES"}, {"SIGNATURE"}});
  for (const OperatorInfo& op : all)
    table.add({printable(op.target), std::string(origin_text(op.origin)),
               op.has_rule ? "rule" : "run", printable(op.signature, op.signature.size())});
  print(environment.out, table.text());
  return kOk;
}

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

// The operators of one program of a file.
struct ProgramUses {
  std::string model;  // empty for the only program
  std::vector<OperatorUse> operators;
};

void write_uses(JsonWriter& json, const std::string& file, const ProgramUses& uses) {
  json.begin_object();
  write_text(json, "file", file);
  if (!uses.model.empty()) write_text(json, "model", uses.model);
  write_objects(json, "operators", uses.operators, [&](const OperatorUse& use) {
    write_text(json, "target", use.target);
    write_flag(json, "has_kernel", use.has_kernel);
    write_objects(json, "calls", use.calls, [&](const OperatorCall& call) {
      write_text(json, "node", call.node);
      write_text(json, "source_line", call.source_line);
      write_text(json, "module_path", call.module_path);
    });
  });
  json.end_object();
}

// Returns the operators of each program, or of the chosen one.
Result<std::vector<ProgramUses>> uses_of(const std::string& file, const OpsArguments& options,
                                         const CustomOperators& operators,
                                         Environment& environment) {
  const Source source{.file = file, .model = options.model, .limits = options.limits};
  PT2_TRY(const Package package, open_package(source, environment));
  std::vector<std::string> models(package.models().begin(), package.models().end());
  if (!options.model.empty()) {
    PT2_TRY(std::string model, chosen_model(source, package));
    models = {std::move(model)};
  }
  std::vector<ProgramUses> out;
  for (const std::string& model : models) {
    PT2_TRY(const Program* program, package.program(model));
    std::vector<OperatorUse> uses = operators_used(*program, operators);
    if (options.missing) std::erase_if(uses, [](const OperatorUse& use) { return use.has_kernel; });
    out.push_back({models.size() > 1 ? model : "", std::move(uses)});
  }
  return out;
}

void print_uses(const OpsArguments& options, const std::string& file, bool is_named,
                const ProgramUses& uses, Environment& environment) {
  if (uses.operators.empty()) return;
  if (is_named || !uses.model.empty())
    print(environment.out, fmt::format("{}{}:\n", printable(file),
                                       uses.model.empty() ? "" : ":" + printable(uses.model)));
  print(environment.out,
        options.missing ? missing_text(uses.operators) : used_text(uses.operators));
}

// Continues after a file that cannot be read, to report the others.
Result<int> list_used(const OpsArguments& options, const CustomOperators& operators,
                      Environment& environment) {
  PT2_TRY(const std::vector<std::string> files,
          list_files(options.files, kProgramEndings, environment));
  int code = kOk;
  JsonWriter json;
  json.begin_object();
  json.key("files");
  json.begin_array();
  for (const std::string& file : files) {
    const auto uses = uses_of(file, options, operators, environment);
    if (!uses) {
      print_error(environment, uses.error());
      code = std::max(code, exit_code(uses.error().code));
      continue;
    }
    for (const ProgramUses& each : *uses) {
      if (options.missing && !each.operators.empty())
        code = std::max(code, exit_code(ErrorCode::unsupported));
      if (options.json)
        write_uses(json, file, each);
      else
        print_uses(options, file, files.size() > 1, each, environment);
    }
  }
  json.end_array();
  json.end_object();
  if (options.json) print(environment.out, json.text() + "\n");
  return code;
}

Result<int> list_operators(const OpsArguments& options, Environment& environment) {
  if (options.files.empty() && options.missing)
    return Error{ErrorCode::argument, "--missing needs a FILE to look for missing operators in",
                 ""};
  if (options.files.empty() && !options.model.empty())
    return usage_error("--model names a program of a FILE, which is missing");
  PT2_TRY(const CustomOperators operators, load_operators(options.libraries));
  if (options.files.empty()) return list_available(operators, options.json, environment);
  return list_used(options, operators, environment);
}

}  // namespace

Action setup_ops(CommandLine& line) {
  auto options = std::make_shared<OpsArguments>();
  line.add_option("FILE", options->files,
                  "files and folders; - is standard input; without any, the\n"
                  "operators of this build are listed");
  line.add_flag("--missing", options->missing,
                "only calls of operators without a kernel; exit 4 if there are any");
  add_ops_option(line, options->libraries);
  line.add_option("--model", options->model, "the program to take, of a package that has several")
      .type_name("NAME");
  add_limit_option(line, options->limits);
  add_json_option(line, options->json);
  return [options](Environment& environment) { return list_operators(*options, environment); };
}

}  // namespace pt2::tools
