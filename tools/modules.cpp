#include "tools/modules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "pt2/ir/modules.h"
#include "tools/json_members.h"
#include "tools/table.h"

namespace pt2::tools {
namespace {

class Picture {
 public:
  Picture(const Program& program, const ProgramStats& stats)
      : hierarchy_(module_hierarchy(program)), stats_(stats) {}

  std::string text() {
    add(0, "", "");
    return table_.text();
  }

 private:
  void add(size_t index, const std::string& branch, const std::string& indent) {
    const Module& module = hierarchy_.modules[index];
    const auto is_called = [](const ModuleCall& call) { return !call.runs.empty(); };
    const auto has_signature = [](const ModuleCall& call) { return call.entry.has_value(); };
    std::string calls;
    if (const auto count = std::ranges::count_if(module.calls, is_called); count > 1)
      calls = fmt::format("x{}", count);
    if (index > 0 && std::ranges::any_of(module.calls, has_signature))
      calls += calls.empty() ? "signature" : ", signature";
    table_.add({branch + (index == 0 ? "(root)" : printable(module.name)), printable(module.type),
                calls, std::to_string(module.nodes),
                std::to_string(stats_.modules[index].parameters)});
    for (size_t child : module.children) {
      const bool is_last = child == module.children.back();
      add(child, indent + (is_last ? "└─ " : "├─ "), indent + (is_last ? "   " : "│  "));
    }
  }

  ModuleHierarchy hierarchy_;
  const ProgramStats& stats_;
  TextTable table_{
      {{"module"}, {"class"}, {"calls"}, {"nodes", Align::right}, {"parameters", Align::right}}};
};

void write_arguments(JsonWriter& json, std::string_view key,
                     const std::vector<ArgumentSpec>& arguments) {
  std::vector<std::string> names;
  for (const ArgumentSpec& argument : arguments) names.push_back(argument.name);
  write_texts(json, key, names);
}

void write_call(JsonWriter& json, const Program& program, const std::string& name,
                const ModuleCall& call) {
  write_text(json, "name", name);
  json.key("nodes");
  json.begin_array();
  for (const NodeRun& run : call.runs) {
    json.begin_array();
    json.integer(static_cast<int64_t>(run.begin));
    json.integer(static_cast<int64_t>(run.end));
    json.end_array();
  }
  json.end_array();
  if (!call.entry) return;
  const ModuleCallSignature& signature = *program.module_call_graph[*call.entry].signature;
  write_arguments(json, "inputs", signature.inputs);
  write_arguments(json, "outputs", signature.outputs);
}

}  // namespace

std::string modules_text(const Program& program, const ProgramStats& stats) {
  return Picture(program, stats).text();
}

void write_modules(JsonWriter& json, const Program& program) {
  const ModuleHierarchy hierarchy = module_hierarchy(program);
  size_t index = 0;
  write_objects(json, "modules", hierarchy.modules, [&](const Module& module) {
    write_text(json, "fqn", hierarchy.fqn(index));
    write_text(json, "class", module.type);
    write_integer(json, "nodes", module.nodes);
    write_objects(json, "tensors", module.inputs, [&](size_t input) {
      const InputSpec& spec = program.signature.input_specs[input];
      write_text(json, "name", *spec.target);
      write_text(json, "kind", input_kind_name(spec.kind));
    });
    write_objects(json, "calls", module.calls, [&](const ModuleCall& call) {
      write_call(json, program, hierarchy.call_name(index, call), call);
    });
    ++index;
  });
}

std::array<std::pair<std::string_view, const HeldStats*>, 3> held_by_name(
    const ProgramStats& stats) {
  return {{{"parameters", &stats.parameters},
           {"buffers", &stats.buffers},
           {"constants", &stats.constants}}};
}

void write_held(JsonWriter& json, const ProgramStats& stats) {
  for (const auto& [name, held] : held_by_name(stats)) {
    json.key(name);
    json.begin_object();
    write_integer(json, "count", held->tensors);
    write_integer(json, "elements", held->elements);
    write_integer(json, "bytes", held->bytes);
    json.end_object();
  }
}

}  // namespace pt2::tools
