#include <fmt/format.h>

#include "base/text.h"
#include "draw/texts.h"
#include "draw/wires.h"
#include "pt2/tools/drawing.h"

namespace pt2 {
namespace {

using picture::kHeader;
using picture::kLineHeight;
using picture::kTitleHeight;

// Colours of operator classes: stripe in the light and dark theme; page/theme.js has the same.
struct ClassColours {
  std::string_view light, dark;
};
constexpr ClassColours kColours[] = {
    {"#64748b", "#94a3b8"},  // other
    {"#2563eb", "#60a5fa"},  // product
    {"#7c3aed", "#a78bfa"},  // attention
    {"#0d9488", "#2dd4bf"},  // normalisation
    {"#dc2626", "#f87171"},  // activation
    {"#475569", "#a8b3c4"},  // pointwise
    {"#15803d", "#4ade80"},  // reduction
    {"#a3a3a3", "#737373"},  // shape
    {"#b45309", "#fbbf24"},  // lookup
    {"#a16207", "#ca8a04"},  // constant
    {"#be185d", "#f472b6"},  // quantization
    {"#0369a1", "#38bdf8"},  // control
};

constexpr std::string_view kStyle = R"(
text { font: 10.5px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #475569 }
.t { font-size: 12px; font-weight: 600; fill: #0f172a }
text.g0, text.g1 { paint-order: stroke; stroke-width: 3.5; stroke-linejoin: round }
text.g0 { stroke: #f8fafc } text.g1 { stroke: #eef2f7 }
.bg { fill: #f8fafc }
.box { fill: #fff; stroke: #cbd5e1 }
rect.g0, rect.g1 { stroke: #94a3b8 } rect.g0 { fill: #f8fafc } rect.g1 { fill: #eef2f7 }
.io { fill: #ecfdf5; stroke: #6ee7b7 }
.wire { fill: none; stroke: #7587a0; stroke-width: 1.2 }
.port { fill: #b45309 }
.written { fill: #be185d }
.weight { fill: #2563eb }
.arrow { fill: #7587a0 }
@media (prefers-color-scheme: dark) {
text { fill: #a3b1c6 } .t { fill: #f1f5f9 } .bg { fill: #0b1120 }
text.g0 { stroke: #0b1120 } text.g1 { stroke: #131c2f }
.box { fill: #1e293b; stroke: #3b4a61 } rect.g0, rect.g1 { stroke: #475569 }
rect.g0 { fill: #0b1120 } rect.g1 { fill: #131c2f }
.io { fill: #052e26; stroke: #0f766e } .wire { stroke: #71829c } .arrow { fill: #71829c }
.port { fill: #fbbf24 } .written { fill: #f472b6 } .weight { fill: #60a5fa }
)";

// Prints coordinates with nine digits: pictures of large programs are millions of pixels high.
class SvgPrinter {
 public:
  explicit SvgPrinter(const Drawing& drawing) : drawing_(drawing) {}

  std::string print(std::string_view title) {
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n<title>{2}</title>\n<style>\n",
        drawing_.width, drawing_.height, escape_markup(picture::kept(title)));
    // The style ends inside its rules for the dark theme.
    for (size_t i = 0; i < std::size(kColours); ++i)
      out_ += fmt::format(".c{} {{ fill: {} }} ", i, kColours[i].light);
    out_ += kStyle;
    for (size_t i = 0; i < std::size(kColours); ++i)
      out_ += fmt::format(".c{} {{ fill: {} }} ", i, kColours[i].dark);
    out_ += "}\n</style>\n<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n";
    const std::vector<uint32_t> visible = visible_boxes(drawing_);
    const auto for_open = [&](auto take) {
      for (const uint32_t id : visible)
        if (drawing_.boxes[id].is_open) take(drawing_.boxes[id]);
    };
    for_open([&](const Box& box) { group(box); });
    for (const DrawnPath& drawn : drawing_.paths) path(drawn);
    for_open([&](const Box& box) { labels(box); });
    for (const uint32_t id : visible)
      if (!drawing_.boxes[id].is_open) box(drawing_.boxes[id]);
    for_open([&](const Box& box) { title_of(box); });
    return std::move(out_) + "</svg>\n";
  }

 private:
  void text(std::string_view css, double x, double y, std::string_view content) {
    if (content.empty()) return;
    out_ += fmt::format("<text class=\"{}\" x=\"{:.9g}\" y=\"{:.9g}\">{}</text>\n", css, x, y,
                        escape_markup(content));
  }

  void rect(const Box& box, std::string_view css, double radius) {
    out_ += fmt::format(
        "<rect class=\"{}\" x=\"{:.9g}\" y=\"{:.9g}\" width=\"{:.9g}\" height=\"{:.9g}\" "
        "rx=\"{:g}\"/>\n",
        css, box.x, box.y, box.width, box.height, radius);
  }

  // Returns the class for a box's level: nested open boxes alternate between two colours. A text is
  // outlined in the colour of the box around it, which keeps lines away.
  static std::string level(const Box& box, std::string_view more = "") {
    return fmt::format("{}g{}", more, box.depth % 2);
  }

  void group(const Box& box) {
    if (box.kind != BoxKind::program) rect(box, level(box), 8);
  }

  void title_of(const Box& box) {
    if (box.kind == BoxKind::program) return;
    text(level(box, "t "), box.x + 10, box.y + 16, box.title);
    text(level(box), box.x + 18 + picture::title_width(box.title), box.y + 16, box.detail);
  }

  void box(const Box& box) {
    const bool is_border = box.kind == BoxKind::input || box.kind == BoxKind::output;
    if (!box.children.empty()) {  // a card behind the box: it has contents
      Box behind = box;
      behind.x += 3;
      behind.y += 3;
      rect(behind, "box", 4);
    }
    rect(box, is_border ? "io" : "box", is_border ? 10 : 4);
    if (!is_border)
      out_ += fmt::format(
          "<rect class=\"c{}\" x=\"{:.9g}\" y=\"{:.9g}\" width=\"4\" height=\"{:.9g}\" "
          "rx=\"2\"/>\n",
          static_cast<int>(box.operator_class), box.x, box.y, box.height);
    double y = box.y + picture::kBoxPadding + 12;
    text("t", box.x + picture::kBoxPadding + 3, y, box.title);
    y += kTitleHeight - 2;
    const auto line = [&](std::string_view css, std::string_view content) {
      text(css, box.x + picture::kBoxPadding + 3, y, content);
      y += kLineHeight;
    };
    if (!box.detail.empty()) line("", box.detail);
    for (const BoxLine& inner : box.lines) {
      switch (inner.kind) {
        case BoxLine::Kind::weight:
          line("weight", inner.text);
          break;
        case BoxLine::Kind::port:
          line("port", "↳ " + inner.text);
          break;
        case BoxLine::Kind::written:
          line("written", inner.text);
          break;
        case BoxLine::Kind::more:
          line("", inner.text);
          break;
      }
    }
  }

  void path(const DrawnPath& drawn) {
    std::string d = fmt::format("M{:.9g} {:.9g}", drawn.points[0], drawn.points[1]);
    for (size_t i = 2; i < drawn.points.size(); i += 2) {
      const double x0 = drawn.points[i - 2], y0 = drawn.points[i - 1];
      const double x = drawn.points[i], y = drawn.points[i + 1];
      const double middle = (y0 + y) / 2;
      if (x == x0)
        d += fmt::format("V{:.9g}", y);
      else
        d += fmt::format("C{:.9g} {:.9g} {:.9g} {:.9g} {:.9g} {:.9g}", x0, middle, x, middle, x, y);
    }
    out_ += fmt::format("<path class=\"wire\" d=\"{}\"/>\n", d);
    if (drawn.target == kNoBox) return;
    const double x = drawn.points[drawn.points.size() - 2], y = drawn.points.back();
    out_ += fmt::format("<path class=\"arrow\" d=\"M{:.9g} {:.9g}l-3 -5h6z\"/>\n", x, y);
  }

  void labels(const Box& around) {
    for (const Wire& wire : around.wires) {
      const Box& from = drawing_.boxes[wire.from];
      if (from.is_open && wire.from_port != kNoBox) continue;        // labelled inside
      const bool is_card = !from.is_open && !from.children.empty();  // the card behind is lower
      text(level(around), from.x + std::floor(from.width / 2) + picture::kLabelOffset,
           from.y + from.height + (is_card ? 14 : 11), wire.label);
    }
  }

  const Drawing& drawing_;
  std::string out_;
};

// Graphviz has no dark theme: uses the picture's light colours.
constexpr std::string_view kGroupColours[] = {"#f8fafc", "#eef2f7"};
constexpr std::string_view kDotStyle =
    R"(  compound=true
  graph [fontname=monospace fontsize=11 labeljust=l style="rounded,filled" color="#94a3b8"]
  node [shape=box fontname=monospace fontsize=11 style="rounded,filled" fillcolor=white]
  edge [fontname=monospace fontsize=9 color="#7587a0" fontcolor="#475569" arrowsize=0.6]
)";

// `line_end` is "\n" for centred lines, "\l" for left-aligned lines.
std::string quoted(std::string_view text, std::string_view line_end = "\\n") {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += line_end;
    else
      out += c;
  }
  return out + '"';
}

void print_dot_level(const Drawing& drawing, uint32_t id, size_t indent, std::string& out) {
  const std::string blanks(indent, ' ');
  for (const uint32_t child_id : drawing.boxes[id].children) {
    const Box& child = drawing.boxes[child_id];
    std::string label = child.title;
    if (!child.detail.empty()) label += "\n" + child.detail;
    if (child.is_open) {
      out += fmt::format("{0}subgraph cluster_{1} {{\n{0}  label={2} fillcolor=\"{3}\"\n", blanks,
                         child_id, quoted(label + "\n", "\\l"), kGroupColours[child.depth % 2]);
      print_dot_level(drawing, child_id, indent + 2, out);
      out += blanks + "}\n";
      continue;
    }
    for (const BoxLine& line : child.lines) label += "\n" + line.text;
    const bool is_border = child.kind == BoxKind::input || child.kind == BoxKind::output;
    out += fmt::format(
        "{}b{} [label={} {}]\n", blanks, child_id, quoted(label),
        is_border ? "fillcolor=\"#ecfdf5\" color=\"#6ee7b7\""
                  : fmt::format("color=\"{}\"",
                                kColours[static_cast<size_t>(child.operator_class)].light));
  }
}

// An end of an edge. An open box is not a node in Graphviz. If none of its inputs or outputs has
// the wire, the edge ends at the border of the cluster and leads to some node inside.
struct DotEnd {
  uint32_t node = kNoBox;
  uint32_t cluster = kNoBox;
};
DotEnd end_of(const Drawing& drawing, uint32_t id, uint32_t port, bool is_source) {
  if (!drawing.boxes[id].is_open) return {id};
  if (port != kNoBox) return {port};
  DotEnd end{.node = id, .cluster = id};
  while (drawing.boxes[end.node].is_open) {
    const std::vector<uint32_t>& children = drawing.boxes[end.node].children;
    end.node = is_source ? children.back() : children.front();
  }
  return end;
}

void print_dot_line(const Drawing& drawing, const Wire& wire, size_t i, std::string& out) {
  const DotEnd from = end_of(drawing, wire.from, wire.from_port, true);
  const DotEnd to = end_of(drawing, wire.to[i], wire.to_ports[i], false);
  out += fmt::format("  b{} -> b{} [label={}", from.node, to.node, quoted(wire.label));
  if (from.cluster != kNoBox) out += fmt::format(" ltail=cluster_{}", from.cluster);
  if (to.cluster != kNoBox) out += fmt::format(" lhead=cluster_{}", to.cluster);
  out += "]\n";
}

}  // namespace

std::string print_svg(const Drawing& drawing, std::string_view title) {
  return SvgPrinter(drawing).print(title);
}

std::string print_dot(const Drawing& drawing, std::string_view title) {
  std::string out = fmt::format("digraph {} {{\n{}", quoted(picture::kept(title)), kDotStyle);
  print_dot_level(drawing, 0, 2, out);
  for (const uint32_t id : visible_boxes(drawing)) {
    const Box& level = drawing.boxes[id];
    if (!level.is_open) continue;
    for (const Wire& wire : level.wires)
      for (size_t i = 0; i < wire.to.size(); ++i) print_dot_line(drawing, wire, i, out);
  }
  return out + "}\n";
}

}  // namespace pt2
