#include "pt2/ir/node.h"

#include <fmt/format.h>

#include "ir/node_origins.h"

namespace pt2 {
namespace {

// Splits at commas outside brackets, like metadata_split of import_nn_module_stack.
std::vector<std::string_view> split_at_depth_zero(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t start = 0;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == '(') ++depth;
    if (text[i] == ']' || text[i] == ')') --depth;
    if (text[i] != ',' || depth != 0) continue;
    parts.push_back(text.substr(start, i - start));
    start = i + 1;
  }
  parts.push_back(text.substr(start));
  return parts;
}

Result<ModuleStackEntry> parse_stack_entry(std::string_view item) {
  // 2.1 wrote "key:(path,type)".
  const size_t colon = item.find(":(");
  if (colon != std::string_view::npos && item.ends_with(")")) {
    const auto parts = split_at_depth_zero(item.substr(colon + 2, item.size() - colon - 3));
    if (parts.size() == 2) {
      return ModuleStackEntry{std::string(item.substr(0, colon)), std::string(parts[0]),
                              std::string(parts[1])};
    }
  }
  const auto parts = split_at_depth_zero(item);
  if (parts.size() != 3) {
    return Error{ErrorCode::malformed,
                 fmt::format("'{}' has {} parts, expected key, path and type", item, parts.size()),
                 "nn_module_stack"};
  }
  return ModuleStackEntry{std::string(parts[0]), std::string(parts[1]), std::string(parts[2])};
}

// File "PATH", line LINE
struct Frame {
  std::string_view text, path, line;  // empty if there is no frame
};

Frame last_frame(std::string_view trace) {
  constexpr std::string_view kFile = "File \"", kLine = "\", line ";
  while (true) {
    const size_t start = trace.rfind(kFile);
    if (start == std::string_view::npos) return {};
    const std::string_view frame = trace.substr(start + kFile.size());
    const size_t end = frame.find(kLine);
    // Code generated while tracing ("<eval_with_key>.1") has no source file.
    if (end != std::string_view::npos && !frame.starts_with('<')) {
      const std::string_view rest = frame.substr(end + kLine.size());
      const std::string_view line = rest.substr(0, rest.find_first_not_of("0123456789"));
      return {trace.substr(start, kFile.size() + end + kLine.size() + line.size()),
              frame.substr(0, end), line};
    }
    trace = trace.substr(0, start);
  }
}

}  // namespace

const std::string* find_metadata(const Metadata& metadata, std::string_view key) {
  for (const auto& [name, value] : metadata) {
    if (name == key) return &value;
  }
  return nullptr;
}

const Argument* Node::find_input(std::string_view argument_name) const {
  for (const NamedArgument& input : inputs) {
    if (input.name == argument_name) return &input.arg;
  }
  return nullptr;
}

std::string_view stack_trace(const Node& node) {
  const std::string* trace = find_metadata(node.metadata, "stack_trace");
  return trace ? std::string_view(*trace) : std::string_view();
}

std::string source_line(const Node& node) {
  const Frame frame = last_frame(stack_trace(node));
  if (frame.text.empty()) return {};
  return fmt::format("{}:{}", frame.path.substr(frame.path.find_last_of("/\\") + 1), frame.line);
}

Metadata brief_metadata(Metadata metadata) {
  Metadata out;
  for (auto& [key, value] : metadata) {
    if (key == "nn_module_stack") {
      out.emplace_back(std::move(key), std::move(value));
    } else if (key == "stack_trace") {
      const std::string_view frame = last_frame(value).text;
      if (!frame.empty()) out.emplace_back(std::move(key), std::string(frame));
    }
  }
  out.shrink_to_fit();
  return out;
}

Metadata root_metadata(const Graph& graph) {
  constexpr std::string_view kStack = "nn_module_stack";
  for (const NodeId id : graph.nodes()) {
    const std::string* stack = find_metadata(graph.node(id).metadata, kStack);
    // Skips the stack of a single module, as in 2.1, and of a node whose stack torch.export does
    // not know (torch/_export/passes/_node_metadata_hook.py).
    if (stack != nullptr && (stack->starts_with("L__self__,") || stack->starts_with("L__self__:")))
      return {{std::string(kStack), stack->substr(0, stack->find(';'))}};
  }
  return {};
}

Result<std::vector<ModuleStackEntry>> module_stack(const Node& node) {
  std::vector<ModuleStackEntry> entries;
  const std::string* text = find_metadata(node.metadata, "nn_module_stack");
  if (text == nullptr || text->empty()) return entries;
  std::string_view rest = *text;
  while (true) {
    const size_t end = rest.find(';');
    PT2_TRY(ModuleStackEntry entry, parse_stack_entry(rest.substr(0, end)));
    entries.push_back(std::move(entry));
    if (end == std::string_view::npos) return entries;
    rest = rest.substr(end + 1);
  }
}

std::string module_path(const Node& node) {
  const auto entries = module_stack(node);
  if (!entries || entries->empty()) return {};
  std::string_view path = entries->back().path;
  // Strict mode names modules from the traced function: L['self'].layers[0].
  for (std::string_view root : {"L['self']", "L['fn']"}) {
    if (path.starts_with(root)) path.remove_prefix(root.size());
  }
  if (path.starts_with('.')) path.remove_prefix(1);
  return std::string(path);
}

}  // namespace pt2
