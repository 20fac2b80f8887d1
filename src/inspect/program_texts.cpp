#include "inspect/program_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "inspect/json_texts.h"
#include "ir/symbols/symbols_internal.h"
#include "ir/target.h"
#include "pt2/ir/guards.h"

namespace pt2 {
namespace {

enum class TextKind : uint8_t {
  expression,      // torch/_export/serde/serialize.py, _parse_sym_expr: sympy.sympify evaluates it
  guard,           // torch/export/_unlift.py: compiled
  target,          // deserialize_operator: a dotted path below torch
  value_name,      // torch/fx/graph.py: a parameter of the generated function
  attribute_name,  // torch/fx/graph.py, _format_target: inserted between quotes unescaped
  tree,            // JSON inside a string (torch/utils/_pytree.py, treespec_loads)
};

struct TextRow {
  std::string_view path;  // the last names, without array places; * is any name
  TextKind kind;
  bool is_key = false;
};
constexpr TextRow kRows[] = {
    {"expr_str", TextKind::expression},
    {"range_constraints", TextKind::expression, true},
    {"guards_code", TextKind::guard},
    {"nodes.target", TextKind::target},
    {"as_operator", TextKind::target},
    {"graph.inputs.*.name", TextKind::value_name},
    {"graph.inputs.*.as_name", TextKind::value_name},
    {"forward_arg_names", TextKind::value_name},
    {"parameter.parameter_name", TextKind::attribute_name},
    {"buffer.buffer_name", TextKind::attribute_name},
    {"tensor_constant.tensor_constant_name", TextKind::attribute_name},
    {"custom_obj.custom_obj_name", TextKind::attribute_name},
    {"signature.inputs_to_parameters.*", TextKind::attribute_name},
    {"signature.inputs_to_buffers.*", TextKind::attribute_name},
    {"as_graph.name", TextKind::attribute_name},
    {"module_call_graph.fqn", TextKind::attribute_name},
    {"in_spec", TextKind::tree},
    {"out_spec", TextKind::tree},
};

constexpr std::string_view kAnyName = "*";

// The last names of all rows, which exclude most texts quickly.
constexpr auto kLastNames = [] {
  std::array<std::string_view, std::size(kRows)> names;
  for (size_t i = 0; i < names.size(); ++i)
    names[i] = kRows[i].path.substr(kRows[i].path.rfind('.') + 1);
  return names;
}();

std::string_view last_name(std::span<const JsonStep> path) {
  const size_t count = path.empty() ? 0 : path.back().to_member;
  return count == 0 ? std::string_view() : path[count - 1].key;
}

bool ends_with(std::span<const JsonStep> path, std::string_view pattern) {
  while (true) {
    path = path.first(path.empty() ? 0 : path.back().to_member);
    if (path.empty()) return false;
    const size_t dot = pattern.rfind('.');
    const std::string_view last = dot == pattern.npos ? pattern : pattern.substr(dot + 1);
    if (last != kAnyName && last != path.back().key) return false;
    if (dot == pattern.npos) return true;
    pattern = pattern.substr(0, dot);
    path = path.first(path.size() - 1);
  }
}

// Counts bytes beyond ASCII as letters, like Python.
bool is_name(std::string_view text) {
  const auto is_letter = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0;
  };
  return !text.empty() && is_letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

bool ends_quotes(std::string_view text) {
  return std::ranges::any_of(
      text, [](char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' '; });
}

// Operators that access files whose names are arguments.
constexpr std::string_view kFileOperators[] = {
    "torch.ops.aten.from_file",         "torch.ops.aten.save",
    "torch.ops.image.read_file",        "torch.ops.image.write_file",
    "torch.ops.torchaudio.sox_",        "torch.ops.debugprims.load_tensor",
    "torch.ops.torchvision.read_video", "torch.ops.video_reader."};

// This function imports the class that its first argument names (torch/export/custom_ops.py).
constexpr std::string_view kImportingFunction =
    "torch.export.custom_ops._call_custom_autograd_function_in_pre_dispatch";

class TextChecks {
 public:
  explicit TextChecks(bool was_verified) : was_verified_(was_verified) {}

  void run(std::string_view json) {
    for_each_json_text(json, [&](const JsonText& text) {
      const std::string_view name = last_name(text.path);
      for (size_t i = 0; i < std::size(kRows); ++i)
        if (kRows[i].is_key == text.is_key &&
            (kLastNames[i] == name || kLastNames[i] == kAnyName) &&
            ends_with(text.path, kRows[i].path))
          check(kRows[i].kind, text);
    });
  }

  std::vector<TextFinding> take() { return std::move(findings_); }

 private:
  void add(std::variant<Hazard, Rule> what, const JsonText& text, std::string message) {
    // Bounds memory for a file that consists of such texts.
    constexpr size_t kMost = 1000;
    if (findings_.size() >= kMost) return;
    std::string where;
    for (const std::span<const JsonStep> outer : around_) where += path_text(outer) + ":";
    findings_.push_back({what, where + path_text(text.path), std::move(message)});
  }

  void check(TextKind kind, const JsonText& text) {
    switch (kind) {
      case TextKind::expression:
        return check_expression(text);
      case TextKind::guard:
        return check_guard(text);
      case TextKind::target:
        return check_target(text);
      case TextKind::value_name:
        if (!text.text.empty() && !is_name(text.text))
          add(Hazard::name_as_code, text,
              fmt::format("PyTorch makes a function with a parameter of this name, which is Python "
                          "code: {}",
                          text.text));
        return;
      case TextKind::attribute_name:
        if (ends_quotes(text.text))
          add(Hazard::name_as_code, text,
              fmt::format("PyTorch writes this name between quotes into Python code, which it "
                          "runs; it ends the quotes: {}",
                          text.text));
        return;
      case TextKind::tree:
        return check_tree(text);
    }
  }

  void check_expression(const JsonText& text) {
    if (was_verified_) return;
    if (const auto parsed = pool_.parse(text.text); !parsed)
      add(Rule::expression, text, parsed.error().message + evaluated_text(text.text));
  }

  void check_guard(const JsonText& text) {
    if (was_verified_) return;
    const auto guard = parse_guard(pool_, text.text);
    if (!guard && guard.error().code != ErrorCode::unsupported)
      add(Rule::guard_reads, text, guard.error().message + evaluated_text(text.text));
  }

  void check_target(const JsonText& text) {
    if (!was_verified_ && target_form(text.text) == TargetForm::function &&
        !is_allowed_function(text.text))
      add(Rule::forbidden_target, text,
          fmt::format("found the Python function '{}', expected an operator", text.text));
    if (std::ranges::any_of(kFileOperators,
                            [&](std::string_view name) { return text.text.starts_with(name); }))
      add(Hazard::file_operator, text, fmt::format("the program calls {}", text.text));
    if (text.text == kImportingFunction)
      add(Hazard::module_import, text, "PyTorch imports a class that the node names, and calls it");
  }

  // Contexts are JSON within this JSON; keyword arguments become parameters.
  void check_tree(const JsonText& tree) {
    around_.push_back(tree.path);
    const bool is_input = !tree.path.empty() && tree.path.back().key == "in_spec";
    for_each_json_text(tree.text, [&](const JsonText& text) {
      note_import(text);
      if (text.is_key || text.path.empty() || text.path.back().key != "context") return;
      const bool is_keywords = is_input && text.path.size() == 4 &&
                               path_text(text.path) == "[1].children_spec[1].context";
      around_.push_back(text.path);
      for_each_json_text(text.text, [&](const JsonText& part) {
        note_import(part);
        if (is_keywords && !part.is_key && part.path.size() == 1) check(TextKind::value_name, part);
      });
      around_.pop_back();
    });
    around_.pop_back();
  }

  // Imitates enum_object_hook and _defaultdict_deserialize of torch/utils/_pytree.py.
  void note_import(const JsonText& text) {
    if (text.is_key || text.path.empty()) return;
    const std::string& key = text.path.back().key;
    if (key != "fqn" && key != "default_factory_module") return;
    const std::string module(text.text.substr(0, text.text.find(':')));
    if (!needs_no_note(package_of(module)) && imported_.insert(module).second)
      add(Hazard::module_import, text, fmt::format("PyTorch imports the module {}", module));
  }

  const bool was_verified_;
  // Paths of the texts around the one that is read. Their text is made only for findings: a path
  // may be as long as the file.
  std::vector<std::span<const JsonStep>> around_;
  std::set<std::string> imported_;
  ExprPool pool_;
  std::vector<TextFinding> findings_;
};

}  // namespace

std::string_view package_of(std::string_view name) { return name.substr(0, name.find('.')); }

bool needs_no_note(std::string_view package) {
  return package == "builtins" || package == "collections" || package == "torch";
}

std::vector<TextFinding> find_hostile_texts(std::string_view json, bool was_verified) {
  TextChecks checks(was_verified);
  checks.run(json);
  return checks.take();
}

}  // namespace pt2
