#include "tools/modules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "pt2/modules.h"
#include "tools/json_members.h"
#include "tools/table.h"

namespace pt2::tools {
namespace {

class Picture {
 public:
  explicit Picture(const Program& program)
      : program_(program), hierarchy_(module_hierarchy(program)), elements_(sums()) {}

  std::string text() {
    add(0, "", "");
    return table_.text();
  }

 private:
  // Parents come before their children, so one pass from the end adds up the sums.
  std::vector<uint64_t> sums() const {
    std::vector<uint64_t> out(hierarchy_.modules.size());
    for (size_t i = out.size(); i-- > 0;) {
      const Module& module = hierarchy_.modules[i];
      for (size_t input : module.inputs) {
        const InputSpec& spec = program_.signature.input_specs[input];
        if (spec.kind == InputKind::parameter)
          out[i] += element_count(find_meta(program_, spec.arg));
      }
      if (i > 0) out[module.parent] += out[i];
    }
    return out;
  }

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
                calls, std::to_string(module.nodes), std::to_string(elements_[index])});
    for (size_t child : module.children) {
      const bool is_last = child == module.children.back();
      add(child, indent + (is_last ? "└─ " : "├─ "), indent + (is_last ? "   " : "│  "));
    }
  }

  const Program& program_;
  ModuleHierarchy hierarchy_;
  std::vector<uint64_t> elements_;
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

std::string modules_text(const Program& program) { return Picture(program).text(); }

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

uint64_t element_count(const TensorMeta* meta) {
  if (meta == nullptr) return 0;
  uint64_t elements = 1;
  for (const SymInt& size : meta->sizes)
    elements *=
        size.is_symbolic() ? 0 : static_cast<uint64_t>(std::max<int64_t>(size.literal(), 0));
  return elements;
}

const TensorMeta* find_meta(const Program& program, const ArgumentSpec& spec) {
  const auto id = program.graph.find_value(spec.name);
  return id ? program.graph.value(*id).tensor() : nullptr;
}

}  // namespace pt2::tools
