#include "base/json.h"
#include "draw/texts.h"
#include "ir/graph_place.h"
#include "pt2/tools/drawing.h"

namespace pt2 {
namespace {

class LayoutWriter {
 public:
  LayoutWriter(JsonWriter& json, const Drawing& drawing) : json_(json), drawing_(drawing) {}

  void write(std::string_view name) {
    json_.begin_object();
    text("name", name);
    number("width", drawing_.width);
    number("height", drawing_.height);
    json_.key("boxes");
    json_.begin_array();
    for (const uint32_t id : visible_boxes(drawing_)) write_box(id);
    json_.end_array();
    json_.key("lines");
    json_.begin_array();
    for (const DrawnPath& path : drawing_.paths) write_path(path);
    json_.end_array();
    json_.end_object();
  }

 private:
  void text(std::string_view name, std::string_view content) {
    json_.key(name);
    json_.string(picture::kept(content));
  }
  void number(std::string_view name, double value) {
    json_.key(name);
    json_.number(value);
  }
  void box_number(std::string_view name, uint32_t id) {
    json_.key(name);
    if (id == kNoBox)
      json_.null();
    else
      json_.integer(id);
  }

  void write_box(uint32_t id) {
    const Box& box = drawing_.boxes[id];
    json_.begin_object();
    box_number("id", id);
    box_number("parent", box.parent);
    text("kind", box_kind_name(box.kind));
    text("title", box.title);
    text("detail", box.detail);
    text("module", box.path);
    if (box.node != nullptr) {
      text("node", node_name(*box.graph, *box.node));
      text("target", box.node->target);
    }
    json_.key("open");
    json_.boolean(box.is_open);
    number("x", box.x);
    number("y", box.y);
    number("width", box.width);
    number("height", box.height);
    json_.end_object();
  }

  void write_path(const DrawnPath& path) {
    const Wire& wire = drawing_.boxes[path.level].wires[path.wire];
    json_.begin_object();
    json_.key("values");
    json_.begin_array();
    for (const uint32_t value : wire.values)
      json_.string(picture::kept(drawing_.values[value].value->name));
    json_.end_array();
    box_number("from", wire.from);
    box_number("to", path.target);
    json_.key("points");
    json_.begin_array();
    for (const double point : path.points) json_.number(point);
    json_.end_array();
    json_.end_object();
  }

  JsonWriter& json_;
  const Drawing& drawing_;
};

}  // namespace

std::string print_drawing_json(std::span<const PageProgram> programs) {
  JsonWriter json(JsonStyle::compact);
  json.begin_object();
  json.key("programs");
  json.begin_array();
  for (const PageProgram& program : programs)
    LayoutWriter(json, *program.drawing).write(program.name);
  json.end_array();
  json.end_object();
  return json.take() + "\n";
}

}  // namespace pt2
