#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/hash/text_hash.h"
#include "draw/texts.h"
#include "draw/wires.h"

namespace pt2::picture {
namespace {

// More inputs than this with the same targets are drawn as one box.
constexpr size_t kFewValues = 4;
constexpr size_t kMostWeights = 4;
constexpr size_t kMostWritten = 64;

// The flow of a value between boxes of one level; kNoBox is the level's border.
struct Flow {
  uint32_t level = 0;
  uint32_t from = kNoBox;
  uint32_t value = 0;
  uint32_t to = kNoBox;
};

class Connector {
 public:
  Connector(Drawing& drawing, const std::vector<Placed>& placed)
      : drawing_(drawing), placed_(placed) {}

  void connect() {
    find_names();
    for (const Placed& graph : placed_) add_flows(graph);
    number_children();
    std::ranges::sort(flows_, {}, [&](const Flow& flow) { return key_of(flow); });
    const auto is_same = [&](const Flow& a, const Flow& b) { return key_of(a) == key_of(b); };
    flows_.erase(std::unique(flows_.begin(), flows_.end(), is_same), flows_.end());
    for (size_t begin = 0, end = 0; begin < flows_.size(); begin = end) {
      while (end < flows_.size() && flows_[end].level == flows_[begin].level) ++end;
      make_level(std::span(flows_).subspan(begin, end - begin));
    }
    find_ports();
  }

 private:
  Box& box(uint32_t id) { return drawing_.boxes[id]; }
  const Box& box(uint32_t id) const { return drawing_.boxes[id]; }

  std::tuple<uint32_t, uint32_t, uint32_t, uint32_t> key_of(const Flow& flow) const {
    const auto ordinal = [&](uint32_t id) { return id == kNoBox ? 0 : ordinals_[id]; };
    return {flow.level, ordinal(flow.from), flow.value, ordinal(flow.to)};
  }

  void number_children() {
    ordinals_.assign(drawing_.boxes.size(), 0);
    for (const Box& parent : drawing_.boxes)
      for (size_t i = 0; i < parent.children.size(); ++i)
        ordinals_[parent.children[i]] = static_cast<uint32_t>(i + 1);
  }

  // Finds the names by which callers know inputs and outputs.
  void find_names() {
    const Program& program = *drawing_.program;
    const std::vector<std::string> inputs = user_input_names(program);
    size_t next = 0;
    for (const InputSpec& spec : program.signature.input_specs)
      if (spec.kind == InputKind::user_input && next < inputs.size())
        input_names_[spec.arg.name] = inputs[next++];
    const std::vector<std::string> outputs = user_output_names(program);
    next = 0;
    for (const OutputSpec& spec : program.signature.output_specs) {
      const bool is_user =
          spec.kind == OutputKind::user_output || spec.kind == OutputKind::loss_output;
      if (!is_user || next >= outputs.size()) continue;
      std::string& name = output_names_[spec.arg.name];
      name += (name.empty() ? "" : ", ") + outputs[next++];
    }
  }

  void add_flows(const Placed& graph) {
    for (const ValueId id : graph.graph->values()) {
      const uint32_t value = graph.first_value + static_cast<uint32_t>(id);
      const Definition& definition = graph.graph->value(id).definition;
      if (definition.by == Definition::By::nothing) continue;
      const bool is_node = definition.by == Definition::By::node;
      const uint32_t from =
          is_node ? graph.node_boxes[static_cast<size_t>(definition.node)] : kNoBox;
      bool is_used = false;
      for (const Use use : graph.graph->uses(id)) {
        const uint32_t to = use.node ? graph.node_boxes[static_cast<size_t>(*use.node)] : kNoBox;
        if (!drawing_.values[value].held.empty() && to != kNoBox)
          add_weight(to, value);
        else if (to != kNoBox || is_result(graph, use.index, from))
          add_flow(graph.box, value, from, to);
        else
          continue;
        is_used = true;
      }
      // An unused input is drawn too.
      if (!is_used && !is_node && drawing_.values[value].held.empty())
        flows_.push_back({graph.box, kNoBox, value, kNoBox});
      if (!is_used && !is_node) unread_.push_back(value);
    }
  }

  // A value that the program writes back is not a result; a line in the box that computes it says
  // so.
  bool is_result(const Placed& graph, size_t index, uint32_t from) {
    const std::vector<OutputSpec>& specs = drawing_.program->signature.output_specs;
    if (&graph != placed_.data() || index >= specs.size()) return true;
    const OutputSpec& spec = specs[index];
    if (spec.kind == OutputKind::user_output || spec.kind == OutputKind::loss_output) return true;
    const bool is_gradient = spec.kind == OutputKind::gradient_to_parameter ||
                             spec.kind == OutputKind::gradient_to_user_input;
    if (from != kNoBox && spec.target)
      add_line(box(from).lines,
               {BoxLine::Kind::written,
                (is_gradient ? "gradient of " : "writes ") + shortened(*spec.target, 28)},
               kMostWritten);
    return false;
  }

  void add_weight(uint32_t to, uint32_t value) {
    const DrawnValue& held = drawing_.values[value];
    const std::string name = held.held.substr(held.held.rfind('.') + 1);
    std::vector<BoxLine>& lines = box(to).lines;
    if (std::ranges::find(lines, value, &BoxLine::value) == lines.end())
      add_line(lines, {BoxLine::Kind::weight, shortened(name, 18) + " " + held.type, value},
               kMostWeights);
  }

  // Adds the line, or "…" if there are already `most` lines of its kind: a box stays small, and the
  // search in its lines fast.
  static void add_line(std::vector<BoxLine>& lines, BoxLine line, size_t most) {
    const auto count = static_cast<size_t>(std::ranges::count(lines, line.kind, &BoxLine::kind));
    if (count < most)
      lines.push_back(std::move(line));
    else if (lines.back().kind != BoxLine::Kind::more)
      lines.push_back({BoxLine::Kind::more, "…"});
  }

  // Adds flows out of the boxes around the definition, and into the boxes around the use.
  void add_flow(uint32_t level, uint32_t value, uint32_t from, uint32_t to) {
    const auto depth = [&](uint32_t id) { return id == kNoBox ? 0 : box(id).depth; };
    const auto parent = [&](uint32_t id) { return id == kNoBox ? level : box(id).parent; };
    const uint32_t bottom = box(level).depth + 1;
    while (parent(from) != parent(to)) {
      if (from != kNoBox && (to == kNoBox || depth(from) > depth(to) ||
                             (depth(from) == depth(to) && depth(from) > bottom))) {
        flows_.push_back({box(from).parent, from, value, kNoBox});
        from = box(from).parent;
      } else {
        flows_.push_back({box(to).parent, kNoBox, value, to});
        to = box(to).parent;
      }
    }
    if (from != to || from == kNoBox) flows_.push_back({parent(from), from, value, to});
  }

  // Draws all flows of one level, which are sorted.
  void make_level(std::span<Flow> flows) {
    const uint32_t level = flows[0].level;
    struct Bundle {
      uint32_t from = kNoBox;
      std::vector<uint32_t> to{};
      std::vector<uint32_t> values{};
    };
    std::vector<Bundle> bundles;
    std::map<std::pair<uint32_t, std::vector<uint32_t>>, size_t> known;
    for (size_t begin = 0, end = 0; begin < flows.size(); begin = end) {
      Bundle bundle{.from = flows[begin].from, .values = {flows[begin].value}};
      while (end < flows.size() && flows[end].from == bundle.from &&
             flows[end].value == bundle.values[0])
        bundle.to.push_back(flows[end++].to);
      // An unread input has no target, so it never shares a wire with one that leaves the level.
      if (bundle.from == kNoBox && std::ranges::binary_search(unread_, bundle.values[0]))
        bundle.to.clear();
      const auto [found, is_new] = known.try_emplace({bundle.from, bundle.to}, bundles.size());
      if (is_new)
        bundles.push_back(std::move(bundle));
      else
        bundles[found->second].values.push_back(bundle.values[0]);
    }
    known.clear();
    std::vector<uint32_t> inputs, outputs;
    std::vector<Wire> wires;
    for (Bundle& bundle : bundles) {
      const bool is_unread = bundle.to.empty();
      const bool leaves = !is_unread && bundle.to[0] == kNoBox;
      const bool is_bundled = bundle.values.size() > kFewValues;
      // Each value gets its own wire if the border names it.
      const bool is_whole = is_bundled || (bundle.from != kNoBox && !leaves);
      const size_t step = is_whole ? bundle.values.size() : 1;
      for (size_t i = 0; i < bundle.values.size(); i += step) {
        Wire wire{.values = {bundle.values.begin() + static_cast<ptrdiff_t>(i),
                             bundle.values.begin() + static_cast<ptrdiff_t>(i + step)},
                  .from = bundle.from,
                  .to = bundle.to};
        if (wire.from == kNoBox) {
          wire.from = add_border(level, BoxKind::input, wire.values);
          inputs.push_back(wire.from);
        } else {
          wire.label = label_of(wire.values);
        }
        if (is_unread) continue;
        if (leaves) {
          wire.to[0] = add_border(level, BoxKind::output, wire.values);
          outputs.push_back(wire.to[0]);
          std::rotate(wire.to.begin(), wire.to.begin() + 1, wire.to.end());
        }
        wires.push_back(std::move(wire));
      }
    }
    std::vector<uint32_t>& children = box(level).children;
    children.insert(children.begin(), inputs.begin(), inputs.end());
    children.insert(children.end(), outputs.begin(), outputs.end());
    label_once(wires);
    box(level).wires = std::move(wires);
  }

  // Keeps one label below a box, with the number of other labels.
  static void label_once(std::vector<Wire>& wires) {
    std::unordered_map<uint32_t, std::pair<Wire*, size_t>> first;
    for (Wire& wire : wires) {
      if (wire.label.empty()) continue;
      const auto [found, is_new] = first.try_emplace(wire.from, &wire, 0);
      if (is_new) continue;
      ++found->second.second;
      wire.label.clear();
    }
    for (auto& [from, labelled] : first)
      if (labelled.second > 0) labelled.first->label += fmt::format(" +{}", labelled.second);
  }

  std::string label_of(const std::vector<uint32_t>& values) const {
    const std::string& type = drawing_.values[values[0]].type;
    return values.size() == 1 ? type : fmt::format("{} values", values.size());
  }

  uint32_t add_border(uint32_t level, BoxKind kind, const std::vector<uint32_t>& values) {
    const auto id = static_cast<uint32_t>(drawing_.boxes.size());
    const DrawnValue& first = drawing_.values[values[0]];
    Box made{.kind = kind, .parent = level, .depth = box(level).depth + 1, .values = values};
    made.path = box(level).path;
    if (values.size() == 1) {
      made.title = shortened(name_of(level, kind, first));
      made.detail = first.type;
    } else {
      const DrawnValue& last = drawing_.values[values.back()];
      made.title =
          fmt::format("{} {}", values.size(), kind == BoxKind::input ? "inputs" : "outputs");
      made.detail = fmt::format("{} … {}", shortened(name_of(level, kind, first), 16),
                                shortened(name_of(level, kind, last), 16));
    }
    drawing_.boxes.push_back(std::move(made));
    for (const uint32_t value : values) {
      if (kind == BoxKind::input && drawing_.values[value].box == kNoBox)
        drawing_.values[value].box = id;
      borders_[key(level, kind, value)] = id;
    }
    return id;
  }

  std::string name_of(uint32_t level, BoxKind kind, const DrawnValue& value) const {
    if (!value.held.empty()) return value.held;
    const std::string& name = value.value->name;
    if (level != 0) return name;
    const auto& names = kind == BoxKind::input ? input_names_ : output_names_;
    const auto found = names.find(name);
    return found == names.end() ? name : found->second;
  }

  static uint64_t key(uint32_t level, BoxKind kind, uint32_t value) {
    return (uint64_t{level} << 33) | (uint64_t{value} << 1) | (kind == BoxKind::output ? 1 : 0);
  }

  // Wires end at a box that calls graphs, and continue inside other boxes.
  void find_ports() {
    for (Box& level : drawing_.boxes)
      for (Wire& wire : level.wires) {
        wire.from_port = find_port(wire.from, BoxKind::output, wire.values[0]);
        for (const uint32_t to : wire.to)
          wire.to_ports.push_back(find_port(to, BoxKind::input, wire.values[0]));
      }
  }

  uint32_t find_port(uint32_t inside, BoxKind kind, uint32_t value) const {
    const auto found = borders_.find(key(inside, kind, value));
    return found == borders_.end() ? kNoBox : found->second;
  }

  Drawing& drawing_;
  const std::vector<Placed>& placed_;
  std::vector<Flow> flows_;
  std::vector<uint32_t> ordinals_;
  std::vector<uint32_t> unread_;  // unread inputs, in increasing order
  TextMap<std::string, std::string> input_names_, output_names_;
  std::unordered_map<uint64_t, uint32_t> borders_;
};

}  // namespace

bool is_number(const DrawnValue& value) {
  return value.value->kind() == ValueKind::sym_int || value.value->kind() == ValueKind::sym_float ||
         value.value->kind() == ValueKind::sym_bool;
}

void connect(Drawing& drawing, const std::vector<Placed>& placed) {
  Connector(drawing, placed).connect();
}

}  // namespace pt2::picture
