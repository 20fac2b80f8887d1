#include "pt2/tools/drawing.h"

#include <fmt/format.h>

#include <algorithm>

#include "draw/hierarchy.h"
#include "draw/texts.h"
#include "draw/wires.h"
#include "ir/target.h"
#include "ops/table.h"

namespace pt2 {
namespace {

struct ClassRow {
  OperatorClass operator_class;
  std::string_view text;
};
constexpr ClassRow kClasses[] = {
#define PT2_OPERATOR_CLASS(operator_class, text) {OperatorClass::operator_class, text},
#include "draw/operator_classes.def"
};

bool matches(std::string_view name, std::string_view text) {
  const bool is_inside = text.starts_with('*'), is_end = text.ends_with('$');
  if (is_inside) text.remove_prefix(1);
  if (is_end) text.remove_suffix(1);
  if (is_inside) return is_end ? name.ends_with(text) : name.find(text) != name.npos;
  return is_end ? name == text : name.starts_with(text);
}

// Numbers depths from the root; a child may have a lower number than its parent.
void number_depths(Drawing& drawing) {
  std::vector<uint32_t> open{0};
  while (!open.empty()) {
    const uint32_t id = open.back();
    open.pop_back();
    for (const uint32_t child : drawing.boxes[id].children) {
      drawing.boxes[child].depth = drawing.boxes[id].depth + 1;
      open.push_back(child);
    }
  }
}

// Names modules by the part of their path after the enclosing module's path.
void name_modules(Drawing& drawing, uint32_t id, const std::string& around) {
  for (const uint32_t child_id : drawing.boxes[id].children) {
    Box& child = drawing.boxes[child_id];
    const bool is_module = child.kind == BoxKind::module;
    if (is_module) {
      const bool is_below = child.path.size() > around.size() + 1 &&
                            child.path.starts_with(around) &&
                            (around.empty() || child.path[around.size()] == '.');
      const size_t skipped = is_below && !around.empty() ? around.size() + 1 : 0;
      child.title = picture::shortened(std::string_view(child.path).substr(skipped));
    }
    name_modules(drawing, child_id, is_module ? child.path : around);
  }
}

void add_node_count(Box& box) {
  if (box.children.empty() || box.kind == BoxKind::program) return;
  box.detail += fmt::format("{}{} node{}", box.detail.empty() ? "" : " · ", box.nodes,
                            box.nodes == 1 ? "" : "s");
}

// How many boxes are visible if no depth is requested.
constexpr size_t kVisible = 120;

// Opens outer boxes first, until enough boxes are visible; the rest of a repeat stays folded.
void open_boxes(Drawing& drawing, const DrawOptions& options) {
  std::vector<uint32_t> queue{0};
  size_t visible = 0;
  for (size_t next = 0; next < queue.size(); ++next) {
    Box& box = drawing.boxes[queue[next]];
    if (box.children.empty()) continue;
    const bool fits = visible + box.children.size() <= kVisible;
    const bool wanted =
        options.depth ? box.depth < *options.depth : fits && box.kind != BoxKind::rest;
    box.is_open = box.depth == 0 || wanted;
    if (!box.is_open) continue;
    visible += box.children.size();
    queue.insert(queue.end(), box.children.begin(), box.children.end());
  }
}

struct FamilyClass {
  std::string_view family;
  OperatorClass purpose;
};
constexpr FamilyClass kFamilyClasses[] = {
#define PT2_OP_FAMILY(name, values, purpose) {#name, OperatorClass::purpose},
#include "ops/families.def"
};

// Returns the purpose of the operator's family; `other` if only the name determines the class.
OperatorClass class_of_family(std::string_view target) {
  const ops::Operator op = ops::find_operator(target);
  const ops::Family* family = op ? ops::find_family(*op.def) : nullptr;
  if (family == nullptr) return OperatorClass::other;
  return std::ranges::find(kFamilyClasses, family->name, &FamilyClass::family)->purpose;
}

}  // namespace

std::string_view box_kind_name(BoxKind kind) {
  constexpr std::string_view kNames[] = {"program", "module", "repeat", "rest",  "part",
                                         "call",    "graph",  "node",   "input", "output"};
  return kNames[static_cast<size_t>(kind)];
}

OperatorClass operator_class_of(std::string_view target) {
  const TargetForm form = target_form(target);
  if (form == TargetForm::higher_order) return OperatorClass::control;
  if (form == TargetForm::function) return OperatorClass::shape;
  if (const OperatorClass purpose = class_of_family(target); purpose != OperatorClass::other)
    return purpose;
  const std::string_view name = form == TargetForm::overload ? operator_name(target) : target;
  const std::string_view plain = name.starts_with('_') ? name.substr(1) : name;
  for (const ClassRow& row : kClasses)
    if (matches(name, row.text) || matches(plain, row.text)) return row.operator_class;
  return target_namespace(target) == "aten" ? OperatorClass::pointwise : OperatorClass::other;
}

Drawing draw(const Program& program, const DrawOptions& options) {
  Drawing drawing{.program = &program};
  const std::vector<picture::Placed> placed = picture::build_hierarchy(drawing);
  number_depths(drawing);
  name_modules(drawing, 0, "");
  picture::connect(drawing, placed);
  for (Box& box : drawing.boxes) {
    add_node_count(box);
    picture::measure(box);
  }
  for (uint32_t id = 0; id < drawing.boxes.size(); ++id)
    if (!drawing.boxes[id].children.empty()) picture::arrange(drawing, id);
  for (Box& box : drawing.boxes) picture::measure(box);
  open_boxes(drawing, options);
  place(drawing);
  return drawing;
}

std::vector<uint32_t> visible_boxes(const Drawing& drawing) {
  std::vector<uint32_t> out{0};
  for (size_t i = 0; i < out.size(); ++i) {
    const Box& box = drawing.boxes[out[i]];
    if (box.is_open) out.insert(out.end(), box.children.begin(), box.children.end());
  }
  return out;
}

}  // namespace pt2
