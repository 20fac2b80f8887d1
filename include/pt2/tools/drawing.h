// Pictures of programs. Modules are nested boxes; the equal blocks of a deep network are one box
// with a count; values are lines between boxes. A box that takes a distant or widely used value
// names it in a port instead of a line. Time and memory are O(n log n) in the program.
//
//   pt2::Drawing drawing = pt2::draw(program);
//   std::string picture = pt2::print_svg(drawing, "model.pt2");
#ifndef PT2_TOOLS_DRAWING_H
#define PT2_TOOLS_DRAWING_H

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/ir/program.h"
#include "pt2/package.h"
#include "pt2/tools/diff.h"
#include "pt2/tools/stats.h"

namespace pt2 {

struct DrawOptions {
  // The number of levels of boxes to open. Nothing: open outer boxes until a page is full.
  std::optional<size_t> depth{};
};

enum class BoxKind : uint8_t {
  program,  // the whole picture, box 0
  module,   // one call of a module
  repeat,   // consecutive equal boxes: the first, and a `rest`
  rest,     // all boxes of a repeat but the first
  part,     // consecutive boxes, grouped because there are too many for one picture
  call,     // a node that calls nested graphs
  graph,    // a nested graph
  node,
  input,   // values that enter the enclosing box
  output,  // values that leave it
};
std::string_view box_kind_name(BoxKind kind);

// The class of an operator. It determines the colour of the box.
enum class OperatorClass : uint8_t {
  other,
  product,  // matrix products, convolutions
  attention,
  normalisation,
  activation,
  pointwise,
  reduction,  // includes pooling
  shape,
  lookup,  // embeddings, indexing
  constant,
  quantization,
  control,
};
OperatorClass operator_class_of(std::string_view target);

inline constexpr uint32_t kNoBox = UINT32_MAX;

// A line of text inside a box, below its title.
struct BoxLine {
  enum class Kind : uint8_t { weight, port, written, more };
  Kind kind = Kind::weight;
  std::string text{};
  uint32_t value = kNoBox;  // for weights and ports: index into Drawing::values
};

// Values that go from one box to boxes of the same level. They are drawn as one branching line.
struct Wire {
  std::vector<uint32_t> values{};
  uint32_t from = kNoBox;
  std::vector<uint32_t> to{};
  // For open boxes: the output box inside `from` and the input boxes inside `to` at the ends of the
  // line. kNoBox if there is none.
  uint32_t from_port = kNoBox;
  std::vector<uint32_t> to_ports{};
  std::string label{};  // type of the values; empty if the box shows it
};

struct Box {
  BoxKind kind = BoxKind::node;
  OperatorClass operator_class = OperatorClass::other;
  uint32_t parent = kNoBox;
  uint32_t depth = 0;
  bool is_open = false;
  std::string title{};
  std::string detail{};
  std::string path{};  // of the enclosing module
  const Graph* graph = nullptr;
  const Node* node = nullptr;  // for nodes and calls
  size_t nodes = 0;            // number of nodes in this box and the boxes inside
  std::vector<BoxLine> lines{};
  // The values that the box defines. For an input or output: the values that it stands for.
  std::vector<uint32_t> values{};

  // The content of the box, also if it is not open.
  std::vector<uint32_t> children{};  // in program order, inputs first
  std::vector<Wire> wires{};
  // Rows from top to bottom, entries from left to right. An entry is a box, or -1 - w if wire w
  // passes through the row.
  std::vector<std::vector<int32_t>> rows{};

  double folded_width = 0, folded_height = 0;
  // The position and size. Meaningless for boxes inside a box that is not open.
  double x = 0, y = 0, width = 0, height = 0;
};

struct DrawnValue {
  const Graph* graph = nullptr;  // null if no value of a graph has this number
  ValueId id{};
  const GraphValue* value = nullptr;
  std::string type{};     // "f32[2, s0]"
  uint32_t box = kNoBox;  // the box that defines it; kNoBox for weights and unused values
  std::string held{};     // the name of the parameter, buffer or constant
};

// The geometry of a line. `points` alternates x and y. The line is curved between points of
// different x.
struct DrawnPath {
  uint32_t level = 0;  // the open box that contains it
  uint32_t wire = 0;
  uint32_t target = kNoBox;  // the box at its end; kNoBox if the line goes on
  std::vector<double> points{};
};

// A program as boxes, values and lines. Points into the program, which must outlive it.
struct Drawing {
  const Program* program = nullptr;
  std::vector<Box> boxes{};
  std::vector<DrawnValue> values{};
  std::vector<DrawnPath> paths{};
  double width = 0, height = 0;
};

// Draws a program, with boxes open and placed as the options say.
Drawing draw(const Program& program, const DrawOptions& options = {});
// Recomputes all positions after boxes were opened or folded. Linear in the visible boxes.
void place(Drawing& drawing);
// Returns the visible boxes, each open box before the boxes inside it.
std::vector<uint32_t> visible_boxes(const Drawing& drawing);

// The differences between a drawn program and an older one, for display on a page.
struct DrawnDifference {
  struct OfNode {
    std::optional<ChangeKind> kind{};    // added or changed; nothing: only next to removed nodes
    std::vector<std::string> lines{};    // the changes as text
    std::vector<std::string> removed{};  // removed nodes that preceded it directly
  };
  std::map<const Node*, OfNode> nodes{};
  std::vector<std::string> removed_at_ends{};  // removed nodes at the end of their graph
  std::vector<std::string> others{};           // other changes, also those of weights
  std::array<size_t, 3> counts{};              // number of nodes by ChangeKind
};
// Prepares `difference` for display. It must be the difference from another program to `after`.
DrawnDifference drawn_difference(const Program& after, const Difference& difference);

// The data that a page shows about one program.
struct PageProgram {
  std::string name{};
  const Drawing* drawing = nullptr;
  const Payloads* payloads = nullptr;     // null: the page shows no elements of weights
  std::map<std::string, double> times{};  // microseconds a call, by name of the node
  // Nodes that are computed together with another node. Maps their names to its name.
  std::map<std::string, std::string> joined{};
  std::map<std::string, TensorRange> ranges{};  // of traced values, by name
  std::optional<DrawnDifference> difference{};  // from another program
};

// Returns an SVG picture. It follows the reader's preference for light or dark colours.
std::string print_svg(const Drawing& drawing, std::string_view title);
// Returns the open boxes as text for Graphviz.
std::string print_dot(const Drawing& drawing, std::string_view title);
// Returns boxes and lines with their positions as JSON.
std::string print_drawing_json(std::span<const PageProgram> programs);
// Returns a self-contained HTML page: it needs no network and no other file. Texts of the program
// are data in the page and cannot become markup or script.
std::string print_page(std::span<const PageProgram> programs, std::string_view title);

}  // namespace pt2

#endif  // PT2_TOOLS_DRAWING_H
