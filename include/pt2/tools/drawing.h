// Pictures of programs: modules as boxes inside boxes, the blocks of a deep network as one with a
// count, values as lines from box to box. What is far away or used everywhere is named at the box
// that takes it instead: a port. Time and memory grow with the program as n log n.
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
  // Boxes within so many levels are open; nothing: the outer ones, until a page is full.
  std::optional<size_t> depth{};
};

enum class BoxKind : uint8_t {
  program,  // the picture itself, the box of number 0
  module,   // one call of a module
  repeat,   // equal boxes that follow one another: the first, and the rest
  rest,     // the others of a repeat
  part,     // boxes that follow one another, where there are too many for one picture
  call,     // a node that calls nested graphs
  graph,    // a nested graph
  node,
  input,   // values that come into the box around it
  output,  // values that leave it
};
std::string_view box_kind_name(BoxKind kind);

// What an operator is for, which gives its box a colour.
enum class OperatorClass : uint8_t {
  other,
  product,  // matrix products, convolutions
  attention,
  normalisation,
  activation,
  pointwise,
  reduction,  // pooling too
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
  uint32_t value = kNoBox;  // of weights and ports
};

// Values that go from one box to others of the same level, drawn as one line with branches.
struct Wire {
  std::vector<uint32_t> values{};
  uint32_t from = kNoBox;
  std::vector<uint32_t> to{};
  // Where the boxes are open: the inputs and outputs inside that the line leads to; kNoBox where
  // there is none.
  uint32_t from_port = kNoBox;
  std::vector<uint32_t> to_ports{};
  std::string label{};  // type of the values; empty where the box has said it
};

struct Box {
  BoxKind kind = BoxKind::node;
  OperatorClass operator_class = OperatorClass::other;
  uint32_t parent = kNoBox;
  uint32_t depth = 0;
  bool is_open = false;
  std::string title{};
  std::string detail{};
  std::string path{};  // of the module that it stands in
  const Graph* graph = nullptr;
  const Node* node = nullptr;  // of nodes and calls
  size_t nodes = 0;            // in it and below
  std::vector<BoxLine> lines{};
  std::vector<uint32_t> values{};  // that it defines; of inputs and outputs: that it stands for

  // What is inside, whether it is open or not.
  std::vector<uint32_t> children{};  // in program order, inputs first
  std::vector<Wire> wires{};
  // From top to bottom, left to right: a box, or -1 - w where wire w passes through the row.
  std::vector<std::vector<int32_t>> rows{};

  double folded_width = 0, folded_height = 0;
  // Where it is; boxes inside others that are not open have no place.
  double x = 0, y = 0, width = 0, height = 0;
};

struct DrawnValue {
  const Graph* graph = nullptr;  // null for numbers that no value of a graph has
  ValueId id{};
  const GraphValue* value = nullptr;
  std::string type{};     // "f32[2, s0]"
  uint32_t box = kNoBox;  // that defines it; kNoBox for weights and what is not used
  std::string held{};     // of parameters, buffers and constants: what they are called
};

// A line as it is drawn: points with x and y in turn; between points of different x it is curved.
struct DrawnPath {
  uint32_t level = 0;  // the open box that it is in
  uint32_t wire = 0;
  uint32_t target = kNoBox;  // the box at its end; kNoBox where it goes on
  std::vector<double> points{};
};

// Refers to the program, which must outlive it.
struct Drawing {
  const Program* program = nullptr;
  std::vector<Box> boxes{};
  std::vector<DrawnValue> values{};
  std::vector<DrawnPath> paths{};
  double width = 0, height = 0;
};

Drawing draw(const Program& program, const DrawOptions& options = {});
// Places everything anew, after boxes were opened or folded. Linear in what is visible.
void place(Drawing& drawing);
// The boxes that show: each open box before those inside it.
std::vector<uint32_t> visible_boxes(const Drawing& drawing);

// What a page says of the drawing's program beside another one.
struct DrawnDifference {
  struct OfNode {
    std::optional<ChangeKind> kind{};    // added or changed; nothing: it only stands beside changes
    std::vector<std::string> lines{};    // what has changed
    std::vector<std::string> removed{};  // nodes that stood right before it
  };
  std::map<const Node*, OfNode> nodes{};
  std::vector<std::string> removed_at_ends{};  // nodes behind which none was left in their graph
  std::vector<std::string> others{};           // what is said of no node
  std::array<size_t, 3> counts{};              // nodes, by ChangeKind
};
// `difference` must be that of another program and `after`, in this order.
DrawnDifference drawn_difference(const Program& after, const Difference& difference);

// What a page shows of one program.
struct PageProgram {
  std::string name{};
  const Drawing* drawing = nullptr;
  const Payloads* payloads = nullptr;     // null: weights without numbers
  std::map<std::string, double> times{};  // microseconds a call, by name of the node
  // Nodes that are computed in the time of another: its name, by theirs.
  std::map<std::string, std::string> joined{};
  std::map<std::string, TensorRange> ranges{};  // of traced values, by name
  std::optional<DrawnDifference> difference{};  // from another program
};

// An SVG picture that follows the reader's choice of light or dark.
std::string print_svg(const Drawing& drawing, std::string_view title);
// The open boxes as text for Graphviz.
std::string print_dot(const Drawing& drawing, std::string_view title);
// Boxes and lines with their places.
std::string print_drawing_json(std::span<const PageProgram> programs);
// A page that needs nothing else: no network, no other file. Whatever is in the program is data
// there and cannot become markup or script.
std::string print_page(std::span<const PageProgram> programs, std::string_view title);

}  // namespace pt2

#endif  // PT2_TOOLS_DRAWING_H
