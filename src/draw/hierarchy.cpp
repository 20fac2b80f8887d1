#include "draw/hierarchy.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash/text_hash.h"
#include "draw/texts.h"
#include "pt2/ir/modules.h"
#include "transform/node_hash.h"

namespace pt2::picture {
namespace {

// Modules below this depth are drawn in the module around them: a value that crosses borders of
// boxes costs time for each.
constexpr size_t kMaxDepth = 16;

// Nodes [begin, end) of a graph that run in one call of a module.
struct Segment {
  size_t begin = 0, end = 0;
  size_t depth = 0;
  size_t module = 0;
  size_t call = 0;
};

std::string_view class_name(std::string_view type) { return type.substr(type.rfind('.') + 1); }

class Builder {
 public:
  explicit Builder(Drawing& drawing) : drawing_(drawing) {}

  std::vector<Placed> build() {
    const Program& program = *drawing_.program;
    for (const InputSpec& spec : program.signature.input_specs)
      if (spec.kind != InputKind::user_input && spec.target) held_[spec.arg.name] = &*spec.target;
    const uint32_t root = add_box({.kind = BoxKind::program, .title = "program"}, 0);
    add_graph(root, program.graph);
    return std::move(placed_);
  }

 private:
  uint32_t add_box(Box box, uint64_t hash) {
    drawing_.boxes.push_back(std::move(box));
    hashes_.push_back(hash);
    return static_cast<uint32_t>(drawing_.boxes.size() - 1);
  }
  Box& box(uint32_t id) { return drawing_.boxes[id]; }

  // Fills `parent` with the boxes of the graph.
  void add_graph(uint32_t parent, const Graph& graph) {
    const size_t place = placed_.size();
    placed_.push_back({&graph, parent, static_cast<uint32_t>(drawing_.values.size()),
                       std::vector<uint32_t>(graph.node_count(), kNoBox)});
    box(parent).graph = &graph;
    const size_t first_value = drawing_.values.size();
    drawing_.values.resize(first_value + graph.value_count());
    for (const ValueId id : graph.values()) {
      DrawnValue& value = drawing_.values[first_value + static_cast<size_t>(id)];
      value.graph = &graph;
      value.id = id;
      value.value = &graph.value(id);
      value.type = short_type(*value.value);
      const auto held = placed_.size() == 1 ? held_.find(value.value->name) : held_.end();
      if (held != held_.end()) value.held = kept(*held->second);
    }
    const ModuleHierarchy modules = module_hierarchy(*drawing_.program, graph);
    std::vector<uint32_t> children = add_segments(place, graph, modules);
    // A nested graph lies in the modules of its caller, so a repeated box for them is left out.
    while (place > 0 && children.size() == 1 && box(children[0]).kind == BoxKind::module)
      children = box(children[0]).children;
    adopt(parent, fold_children(drawing_, hashes_, std::move(children)));
    for (const uint32_t child : box(parent).children) {
      box(parent).nodes += box(child).nodes;
      hashes_[parent] = mix_hash(hashes_[parent], hashes_[child]);
    }
  }

  void adopt(uint32_t parent, std::vector<uint32_t> children) {
    for (const uint32_t child : children) box(child).parent = parent;
    box(parent).children = std::move(children);
  }

  static std::vector<Segment> segments_of(const ModuleHierarchy& modules) {
    std::vector<Segment> segments;
    std::vector<size_t> depths(modules.modules.size(), 0);
    for (size_t i = 1; i < modules.modules.size(); ++i) {
      const Module& module = modules.modules[i];
      depths[i] = depths[module.parent] + 1;
      for (size_t call = 0; depths[i] <= kMaxDepth && call < module.calls.size(); ++call)
        for (const NodeRun& run : module.calls[call].runs)
          segments.push_back({run.begin, run.end, depths[i], i, call});
    }
    std::ranges::sort(segments, [](const Segment& a, const Segment& b) {
      return std::tuple(a.begin, b.end, a.depth) < std::tuple(b.begin, a.end, b.depth);
    });
    return segments;
  }

  struct Open {
    Segment segment;
    std::string path{};  // of the segment's module
    std::vector<uint32_t> children{};
  };

  std::vector<uint32_t> add_segments(size_t place, const Graph& graph,
                                     const ModuleHierarchy& modules) {
    const std::vector<Segment> segments = segments_of(modules);
    const auto opened = [&](const Segment& segment) {
      return Open{.segment = segment, .path = kept(modules.fqn(segment.module), kKeptPath)};
    };
    std::vector<Open> open{opened({0, graph.nodes().size(), 0, 0, 0})};
    size_t next = 0, position = 0;
    const auto close = [&] {
      const uint32_t done = close_segment(modules, std::move(open.back()));
      open.pop_back();
      open.back().children.push_back(done);
    };
    positions_.resize(placed_.size());
    positions_[place].assign(graph.node_count(), 0);
    for (const NodeId id : graph.nodes()) {
      while (open.size() > 1 && open.back().segment.end <= position) close();
      for (; next < segments.size() && segments[next].begin == position; ++next)
        if (segments[next].end <= open.back().segment.end) open.push_back(opened(segments[next]));
      positions_[place][static_cast<size_t>(id)] = position++;
      open.back().children.push_back(
          add_node(place, graph, id, open.back().segment.begin, open.back().path));
    }
    while (open.size() > 1) close();
    return std::move(open.back().children);
  }

  // Properties that all nodes of one operator share.
  struct OfOperator {
    OperatorClass operator_class = OperatorClass::other;
    std::string title{};
  };
  const OfOperator& of_operator(const std::string& target) {
    const auto [found, is_new] = operators_.try_emplace(target);
    if (is_new) found->second = {operator_class_of(target), shortened(operator_title(target))};
    return found->second;
  }

  uint32_t add_node(size_t place, const Graph& graph, NodeId id, size_t begin,
                    const std::string& path) {
    const Node& node = graph.node(id);
    uint64_t hash =
        hash_node(node, {[&](ValueId value) { return distance(place, value, id, begin); }});
    const uint32_t first_value = placed_[place].first_value;
    Box made{.kind = BoxKind::node,
             .operator_class = of_operator(node.target).operator_class,
             .title = of_operator(node.target).title,
             .path = path,
             .graph = &graph,
             .node = &node,
             .nodes = 1};
    for (const Argument& output : node.outputs)
      for_each_value(output, [&](ValueId value) {
        made.values.push_back(first_value + static_cast<uint32_t>(value));
        hash = mix_hash(hash, drawing_.values[made.values.back()].type);
      });
    const uint32_t made_id = add_box(std::move(made), hash);
    placed_[place].node_boxes[static_cast<size_t>(id)] = made_id;
    for (const uint32_t value : box(made_id).values) drawing_.values[value].box = made_id;
    add_nested(made_id, graph, node);
    return made_id;
  }

  // Returns how far back the value was computed, if in the same call of the same module.
  uint64_t distance(size_t place, ValueId value, NodeId user, size_t begin) const {
    const Definition& definition = placed_[place].graph->value(value).definition;
    constexpr uint64_t kOutside = 1;
    if (definition.by != Definition::By::node) return kOutside;
    const size_t from = positions_[place][static_cast<size_t>(definition.node)];
    return from < begin ? kOutside : 2 + positions_[place][static_cast<size_t>(user)] - from;
  }

  void add_nested(uint32_t caller, const Graph& graph, const Node& node) {
    std::vector<uint32_t> nested;
    for (const NamedArgument& input : node.inputs)
      for_each_subgraph(input.arg, [&](SubgraphId id) {
        const Graph& inner = graph.subgraph(id);
        const uint32_t made =
            add_box({.kind = BoxKind::graph,
                     .title = shortened(inner.name.empty() ? input.name : inner.name),
                     .path = box(caller).path},
                    0);
        add_graph(made, inner);
        nested.push_back(made);
      });
    if (nested.empty()) return;
    box(caller).kind = BoxKind::call;
    for (const uint32_t graph_box : nested) {
      box(caller).nodes += box(graph_box).nodes;
      hashes_[caller] = mix_hash(hashes_[caller], hashes_[graph_box]);
    }
    adopt(caller, std::move(nested));
  }

  // A module with one node is drawn as that node, a module with one module as that module.
  uint32_t close_segment(const ModuleHierarchy& modules, Open open) {
    const Module& module = modules.modules[open.segment.module];
    const std::string_view type = class_name(module.type);
    if (open.children.size() == 1) {
      Box& only = box(open.children[0]);
      if (only.kind != BoxKind::module && only.detail.empty())
        only.detail = shortened(fmt::format("{} {}", module.name, type));
      return open.children[0];
    }
    const ModuleCall& call = module.calls[open.segment.call];
    const bool is_first = call.runs.empty() || call.runs[0].begin == open.segment.begin;
    uint64_t hash = mix_hash(0, type);
    Box made{.kind = BoxKind::module,
             .title = shortened(module.name),
             .detail = shortened(type),
             .path = kept(modules.call_name(open.segment.module, call), kKeptPath)};
    if (!is_first) made.detail += " (continued)";
    for (const uint32_t child : open.children) {
      made.nodes += box(child).nodes;
      hash = mix_hash(hash, hashes_[child]);
    }
    const uint32_t id = add_box(std::move(made), hash);
    adopt(id, fold_children(drawing_, hashes_, std::move(open.children)));
    return id;
  }

  Drawing& drawing_;
  std::vector<uint64_t> hashes_;                     // of boxes
  TextMap<std::string_view, OfOperator> operators_;  // by target
  std::vector<Placed> placed_;
  std::vector<std::vector<size_t>> positions_;  // of the nodes of each graph
  TextMap<std::string_view, const std::string*> held_;
};

}  // namespace

std::vector<Placed> build_hierarchy(Drawing& drawing) { return Builder(drawing).build(); }

}  // namespace pt2::picture
