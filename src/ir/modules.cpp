#include "pt2/ir/modules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace pt2 {
namespace {

// Deeper modules are attributed to their ancestor at this depth, to keep pictures and paths
// readable.
constexpr size_t kMaxCallDepth = 100;
// What lies in further modules is attributed to their ancestors: a file of a megabyte may name
// millions of modules.
constexpr size_t kMaxModules = 200'000;

struct CallName {
  std::string_view fqn;
  size_t number = 0;
};

// "a.b@2" is the third call of a.b.
CallName split_call_name(std::string_view text) {
  const size_t sign = text.rfind('@');
  if (sign == text.npos) return {text};
  CallName name{text.substr(0, sign)};
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + sign + 1, end, name.number);
  return parsed.ec == std::errc() && parsed.ptr == end ? name : CallName{text};
}

// Returns the FQN for the path in a stack entry. Strict mode writes Python, "L['self'].layers[0]",
// and its own call numbers, "layers@1".
std::string path_fqn(std::string_view path) {
  for (std::string_view root : {"L['self']", "L['fn']"})
    if (path.starts_with(root)) path.remove_prefix(root.size());
  std::string fqn;
  for (size_t i = 0; i < path.size(); ++i) {
    const char c = path[i];
    if (c == '[') {
      if (!fqn.empty() && fqn.back() != '.') fqn += '.';
    } else if (c != ']' && c != '\'' && !(c == '.' && fqn.empty())) {
      fqn += c;
    }
  }
  return std::string(split_call_name(fqn).fqn);
}

// Returns the node's module stack, or null if the node has none. A hook of torch.export writes a
// stack with this single key for nodes without one (torch/_export/passes/_node_metadata_hook.py).
const std::string* stack_text(const Node& node) {
  const std::string* text = find_metadata(node.metadata, "nn_module_stack");
  const bool is_empty = text == nullptr || text->empty() ||
                        text->starts_with("_empty_nn_module_stack_from_metadata_hook,");
  return is_empty ? nullptr : text;
}

class Builder {
 public:
  Builder(const Program& program, const Graph& graph)
      : program_(program), graph_(graph), numbers_calls_(program.schema_version.major >= 8) {
    hierarchy_.modules.emplace_back();
    call_of(0, 0);
  }

  ModuleHierarchy build() {
    const bool is_top = &graph_ == &program_.graph;
    if (is_top)
      for (const ModuleCallEntry& entry : program_.module_call_graph)
        module_of(split_call_name(entry.fqn).fqn);
    size_t position = 0;
    for (NodeId id : graph_.nodes()) visit(id, position++);
    if (is_top) {
      add_inputs();
      add_signatures();
    }
    return std::move(hierarchy_);
  }

 private:
  // One call of a module that is running.
  struct Frame {
    size_t module = 0;
    size_t number = 0;  // from the key in the stack
    size_t call = 0;    // index in Module::calls
    bool operator==(const Frame& other) const {
      return module == other.module && number == other.number;
    }
  };

  Module& module(size_t index) { return hierarchy_.modules[index]; }

  size_t child_of(size_t parent, std::string_view name) {
    index_.resize(hierarchy_.modules.size());
    if (const auto found = index_[parent].find(name); found != index_[parent].end())
      return found->second;
    if (hierarchy_.modules.size() >= kMaxModules) return parent;
    const size_t child = hierarchy_.modules.size();
    index_[parent].emplace(name, child);
    module(parent).children.push_back(child);
    hierarchy_.modules.push_back({.name = std::string(name), .parent = parent});
    return child;
  }

  size_t module_of(std::string_view fqn) {
    size_t at = 0;
    for (size_t depth = 0; !fqn.empty() && depth < kMaxCallDepth; ++depth) {
      const size_t dot = fqn.find('.');
      at = child_of(at, fqn.substr(0, dot));
      fqn = dot == fqn.npos ? std::string_view() : fqn.substr(dot + 1);
    }
    return at;
  }

  bool is_below(size_t index, size_t ancestor) const {
    while (index != ancestor && index != 0) index = hierarchy_.modules[index].parent;
    return index == ancestor;
  }

  // Returns the frames outermost first, without the root. An entry that does not lie inside the
  // entry before it ends the list (torch/export/unflatten.py, _fix_nn_module_stacks).
  std::vector<Frame> frames_of(const Node& node) {
    std::vector<Frame> frames;
    const auto stack = module_stack(node);
    if (!stack || stack_text(node) == nullptr) return frames;
    for (const ModuleStackEntry& entry : *stack) {
      const size_t index = module_of(path_fqn(entry.path));
      const size_t outer = frames.empty() ? 0 : frames.back().module;
      if (!is_below(index, outer)) break;
      if (module(index).type.empty()) module(index).type = entry.type;
      key_modules_.try_emplace(std::string(split_call_name(entry.key).fqn), index);
      if (index != outer) frames.push_back({index, split_call_name(entry.key).number});
    }
    return frames;
  }

  // Returns the index of the call with that number; adds a call if there is none.
  size_t call_of(size_t index, size_t number) {
    std::vector<ModuleCall>& calls = module(index).calls;
    const auto [found, is_new] = call_index_.try_emplace({index, number}, calls.size());
    if (is_new) calls.push_back({.number = number});
    return found->second;
  }

  size_t open_call(const Frame& frame) {
    const size_t next = module(frame.module).calls.size();
    return call_of(frame.module, numbers_calls_ ? frame.number : next);
  }

  void extend(ModuleCall& call, NodeId id, size_t position) {
    if (call.runs.empty() || call.runs.back().end != position)
      call.runs.push_back({id, position, position});
    ++call.runs.back().end;
  }

  void visit(NodeId id, size_t position) {
    const Node& node = graph_.node(id);
    const std::string* text = stack_text(node);
    const bool is_told = text != nullptr || program_.schema_version.major <= 1;
    const bool is_same = text != nullptr && last_stack_ != nullptr && *text == *last_stack_;
    if (is_told && !is_same) {
      enter(frames_of(node));
      last_stack_ = text;
    }
    extend(module(0).calls[0], id, position);
    for (const Frame& frame : active_) extend(module(frame.module).calls[frame.call], id, position);
    count(node, active_);
  }

  void enter(std::vector<Frame> frames) {
    size_t common = 0;
    while (common < frames.size() && common < active_.size() && frames[common] == active_[common])
      ++common;
    for (size_t i = 0; i < frames.size(); ++i)
      frames[i].call = i < common ? active_[i].call : open_call(frames[i]);
    active_ = std::move(frames);
  }

  // Nodes of nested graphs have their own stacks; those without one belong to the caller's frames.
  void count(const Node& node, const std::vector<Frame>& frames) {
    ++module(0).nodes;
    for (const Frame& frame : frames) ++module(frame.module).nodes;
    // For each level of nested graphs, the levels below it would be parsed again.
    if (&graph_ == &program_.graph) count_nested(graph_, node, frames);
  }

  void count_nested(const Graph& graph, const Node& node, const std::vector<Frame>& frames) {
    for (const NamedArgument& input : node.inputs) {
      const auto* id = input.arg.get_if<SubgraphId>();
      if (id == nullptr) continue;
      const Graph& nested = graph.subgraph(*id);
      for (NodeId inner : nested.nodes()) {
        std::vector<Frame> own = frames_of(nested.node(inner));
        if (own.empty()) own = frames;
        ++module(0).nodes;
        for (const Frame& frame : own) ++module(frame.module).nodes;
        count_nested(nested, nested.node(inner), own);
      }
    }
  }

  void add_inputs() {
    const std::vector<InputSpec>& specs = program_.signature.input_specs;
    for (size_t i = 0; i < specs.size(); ++i) {
      if (specs[i].kind == InputKind::user_input || !specs[i].target) continue;
      const std::string_view target = *specs[i].target;
      const size_t dot = target.rfind('.');
      const std::string_view owner =
          dot == target.npos ? std::string_view() : target.substr(0, dot);
      // 2.1 calls modules by their keys: "L__self___fc1.weight".
      const auto key = key_modules_.find(owner);
      const bool is_key = program_.schema_version.major <= 1 && key != key_modules_.end();
      module(is_key ? key->second : module_of(owner)).inputs.push_back(i);
    }
  }

  void add_signatures() {
    for (size_t i = 0; i < program_.module_call_graph.size(); ++i) {
      if (!program_.module_call_graph[i].signature) continue;
      const CallName name = split_call_name(program_.module_call_graph[i].fqn);
      const size_t index = module_of(name.fqn);
      const size_t call = call_of(index, name.number);
      module(index).calls[call].entry = i;
    }
  }

  const Program& program_;
  const Graph& graph_;
  const bool numbers_calls_;  // from 2.6 on, stack keys of repeated calls end in "@1", "@2", ...
  ModuleHierarchy hierarchy_;
  std::vector<std::map<std::string, size_t, std::less<>>> index_;  // by module and name
  std::map<std::pair<size_t, size_t>, size_t> call_index_;
  std::map<std::string, size_t, std::less<>> key_modules_;
  std::vector<Frame> active_;
  const std::string* last_stack_ = nullptr;
};

}  // namespace

std::string ModuleHierarchy::fqn(size_t module) const {
  std::vector<std::string_view> names;
  for (; module != 0; module = modules[module].parent) names.push_back(modules[module].name);
  std::ranges::reverse(names);
  return fmt::format("{}", fmt::join(names, "."));
}

std::string ModuleHierarchy::call_name(size_t module, const ModuleCall& call) const {
  return call.number == 0 ? fqn(module) : fmt::format("{}@{}", fqn(module), call.number);
}

std::optional<size_t> ModuleHierarchy::find(std::string_view fqn) const {
  size_t at = 0;
  while (!fqn.empty()) {
    const size_t dot = fqn.find('.');
    const std::vector<size_t>& children = modules[at].children;
    const auto child = std::ranges::find(children, fqn.substr(0, dot), [&](size_t index) {
      return std::string_view(modules[index].name);
    });
    if (child == children.end()) return std::nullopt;
    at = *child;
    fqn = dot == fqn.npos ? std::string_view() : fqn.substr(dot + 1);
  }
  return at;
}

ModuleHierarchy module_hierarchy(const Program& program) {
  return module_hierarchy(program, program.graph);
}

ModuleHierarchy module_hierarchy(const Program& program, const Graph& graph) {
  return Builder(program, graph).build();
}

}  // namespace pt2
