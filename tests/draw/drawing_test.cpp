#include "pt2/tools/drawing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "drawn_programs.h"
#include "package/corpus.h"
#include "read_file.h"

namespace pt2 {
namespace {

using test::make_decoder;
using test::StackedProgram;

constexpr size_t kAll = 1000;

// Returns a fault in the placement of boxes; empty if there is none.
std::string fault_of(const Drawing& drawing) {
  const auto name = [&](uint32_t id) { return fmt::format("{} {}", id, drawing.boxes[id].title); };
  for (const uint32_t id : visible_boxes(drawing)) {
    const Box& outer = drawing.boxes[id];
    if (!outer.is_open) continue;
    std::vector<uint32_t> order = outer.children;
    std::ranges::sort(order, {}, [&](uint32_t child) { return drawing.boxes[child].y; });
    for (size_t i = 0; i < order.size(); ++i) {
      const Box& a = drawing.boxes[order[i]];
      if (a.width <= 0 || a.height <= 0) return name(order[i]) + " has no size";
      if (a.x < outer.x || a.y < outer.y || a.x + a.width > outer.x + outer.width ||
          a.y + a.height > outer.y + outer.height)
        return name(order[i]) + " leaves " + name(id);
      for (size_t j = i + 1; j < order.size(); ++j) {
        const Box& b = drawing.boxes[order[j]];
        if (b.y >= a.y + a.height) break;
        if (a.x < b.x + b.width && b.x < a.x + a.width)
          return name(order[i]) + " overlaps " + name(order[j]);
      }
    }
  }
  return "";
}

// Returns a vertical segment of a line that crosses a box; empty if there is none.
std::string crossing_of(const Drawing& drawing) {
  for (const DrawnPath& path : drawing.paths)
    for (size_t i = 2; i < path.points.size(); i += 2) {
      const double x = path.points[i], top = path.points[i - 1], bottom = path.points[i + 1];
      if (x != path.points[i - 2]) continue;
      for (const uint32_t child : drawing.boxes[path.level].children) {
        const Box& box = drawing.boxes[child];
        if (!box.is_open && x > box.x && x < box.x + box.width && bottom > box.y &&
            top < box.y + box.height)
          return fmt::format("a line crosses {} {}", child, box.title);
      }
    }
  return "";
}

// Returns a node that is not in exactly one box, or a box that is not in exactly one parent; empty
// if there is none.
std::string loss_of(const Drawing& drawing, const Program& program) {
  std::map<const Node*, size_t> counts;
  std::vector<uint32_t> order{0};
  for (size_t i = 0; i < order.size(); ++i) {
    const Box& box = drawing.boxes[order[i]];
    if (box.node != nullptr) ++counts[box.node];
    for (const uint32_t child : box.children) {
      if (drawing.boxes[child].parent != order[i]) return "a box does not know its parent";
      order.push_back(child);
    }
  }
  std::vector<const Graph*> graphs{&program.graph};
  size_t nodes = 0;
  for (size_t i = 0; i < graphs.size(); ++i) {
    for (const NodeId id : graphs[i]->nodes()) {
      ++nodes;
      const Node& node = graphs[i]->node(id);
      if (counts[&node] != 1)
        return fmt::format("{} is drawn {} times", node.target, counts[&node]);
      for (const NamedArgument& input : node.inputs)
        for_each_subgraph(input.arg,
                          [&](SubgraphId inner) { graphs.push_back(&graphs[i]->subgraph(inner)); });
    }
  }
  return drawing.boxes[0].nodes == nodes ? "" : "the sum of nodes is wrong";
}

// Returns a value that a node reads although no line leads to its box and the box does not name it;
// empty if there is none.
std::string missing_of(const Drawing& drawing) {
  for (uint32_t id = 0; id < drawing.boxes.size(); ++id) {
    const Box& box = drawing.boxes[id];
    if (box.node == nullptr) continue;
    const auto given = [&](uint32_t value) {
      for (const BoxLine& line : box.lines)
        if (line.value == value || line.kind == BoxLine::Kind::more ||
            line.text.find(" +") != line.text.npos)
          return true;
      for (const Wire& wire : drawing.boxes[box.parent].wires)
        if (std::ranges::count(wire.to, id) > 0 && std::ranges::count(wire.values, value) > 0)
          return true;
      return false;
    };
    for (uint32_t value = 0; value < drawing.values.size(); ++value) {
      const DrawnValue& drawn = drawing.values[value];
      if (drawn.graph != box.graph) continue;
      for (const Use use : drawn.graph->uses(drawn.id))
        if (use.node && &drawn.graph->node(*use.node) == box.node && !given(value) &&
            drawn.value->definition.by != Definition::By::nothing)
          return fmt::format("{} takes {}, and nothing shows it", box.title, drawn.value->name);
    }
  }
  return "";
}

TEST(Drawing, NothingOverlapsInAnyProgram) {
  for (const corpus::File& file : corpus::files()) {
    const Package package = Package::open(file.path).value();
    for (const std::string& model : package.models()) {
      const Program& program = *package.program(model).value();
      for (const std::optional<size_t> depth : {std::optional<size_t>(), {0}, {1}, {kAll}}) {
        const Drawing drawing = draw(program, {.depth = depth});
        EXPECT_EQ(fault_of(drawing), "") << file.path;
        EXPECT_EQ(crossing_of(drawing), "") << file.path;
        if (depth) continue;
        EXPECT_EQ(loss_of(drawing, program), "") << file.path;
        EXPECT_EQ(missing_of(drawing), "") << file.path;
      }
    }
  }
}

TEST(Drawing, SixteenThousandNodes) {
  const Program program = make_decoder(667);
  ASSERT_GT(program.graph.nodes().size(), 16'000u);
  const Drawing folded = draw(program);
  EXPECT_EQ(fault_of(folded), "");
  EXPECT_EQ(loss_of(folded, program), "");
  EXPECT_LT(visible_boxes(folded).size(), 200u);
  const Drawing open = draw(program, {.depth = kAll});
  EXPECT_EQ(fault_of(open), "");
  EXPECT_GT(visible_boxes(open).size(), 16'000u);
}

TEST(Drawing, EqualBlocksAreOneWithACount) {
  const Program program = make_decoder(12);
  const Drawing drawing = draw(program);
  const auto repeat = std::ranges::find(drawing.boxes, BoxKind::repeat, &Box::kind);
  ASSERT_NE(repeat, drawing.boxes.end());
  EXPECT_EQ(repeat->title, "12 × Block");
  EXPECT_EQ(repeat->detail, "layers.0 … layers.11 · 288 nodes");
  ASSERT_EQ(std::ranges::count(drawing.boxes, BoxKind::repeat, &Box::kind), 1);
  const auto rest = std::ranges::find(drawing.boxes, BoxKind::rest, &Box::kind);
  ASSERT_NE(rest, drawing.boxes.end());
  EXPECT_EQ(rest->title, "11 more");
  EXPECT_FALSE(rest->is_open);
}

TEST(Drawing, ABlockThatDiffersIsNoRepeat) {
  StackedProgram made;
  ValueId x = made.input("x");
  for (int i = 0; i < 6; ++i) {
    const std::string stack =
        test::entry("", "M") + ";" + test::entry(fmt::format("b{}", i), "Block");
    const ValueId inner = made.linear(x, stack);
    x = made.call(i == 3 ? "tanh.default" : "relu.default", {arg("self", inner)}, stack);
  }
  made.output(x);
  const Program program = made.finish();
  std::set<std::string> titles;
  for (const Box& box : draw(program).boxes)
    if (box.kind == BoxKind::repeat) titles.insert(box.detail);
  EXPECT_EQ(titles, (std::set<std::string>{"b0 … b2 · 6 nodes", "b4 … b5 · 4 nodes"}));
}

TEST(Drawing, SharedAndFarValuesArePorts) {
  StackedProgram made;
  const ValueId mask = made.input("mask");
  ValueId x = made.input("x");
  const ValueId first = x;
  for (int i = 0; i < 10; ++i)
    x = made.call(fmt::format("mix{}.default", i), {arg("self", x), arg("mask", mask)}, "");
  for (int i = 0; i < 3; ++i) x = made.call(fmt::format("op{}.default", i), {arg("self", x)}, "");
  made.output(made.add(x, first, ""));
  const Program program = made.finish();
  const Drawing drawing = draw(program, {.depth = kAll});
  size_t of_mask = 0, of_first = 0;
  for (const Box& box : drawing.boxes)
    for (const BoxLine& line : box.lines) {
      of_mask += line.kind == BoxLine::Kind::port && line.text == "mask";
      of_first += line.kind == BoxLine::Kind::port && line.text == "x";
    }
  EXPECT_GE(of_mask, 10u);
  EXPECT_EQ(of_first, 1u);
}

TEST(Drawing, ManyInputsOfOneBoxAreOne) {
  StackedProgram made;
  std::vector<ValueId> caches;
  for (int i = 0; i < 64; ++i) caches.push_back(made.input(fmt::format("cache_{}", i)));
  made.output(made.call("cat.default", {arg("tensors", tensors(caches))}, ""));
  const Program program = made.finish();
  const Drawing drawing = draw(program);
  const Box& first = drawing.boxes[drawing.boxes[0].children[0]];
  EXPECT_EQ(first.title, "64 inputs");
  EXPECT_EQ(first.values.size(), 64u);
  EXPECT_EQ(drawing.boxes[0].children.size(), 3u);
}

// An input that is also a result ends at the border of the drawing, like unread inputs.
TEST(Drawing, UnreadInputsAreNoResults) {
  StackedProgram made;
  made.input("first");
  const ValueId x = made.input("x"), y = made.input("y");
  made.input("last");
  made.output(x);
  made.output(made.call("neg.default", {arg("self", y)}, ""));
  const Program program = made.finish();
  const Drawing drawing = draw(program);
  size_t inputs = 0, results = 0, unread = 0;
  for (const Box& box : drawing.boxes) {
    inputs += box.kind == BoxKind::input;
    if (box.kind != BoxKind::output) continue;
    ++results;
    const std::string& name = drawing.values[box.values[0]].value->name;
    unread += name == "first" || name == "last";
  }
  EXPECT_EQ(inputs, 4u);
  EXPECT_EQ(results, 2u);
  EXPECT_EQ(unread, 0u);
}

TEST(Drawing, AWeightThatIsReadTwiceIsNoMoreWeights) {
  ProgramBuilder builder;
  std::vector<ValueId> weights;
  for (const char* name : {"a", "b", "c", "d"})
    weights.push_back(builder.parameter(name, builder.tensor(Dtype::float32, {2})));
  weights.push_back(weights.back());
  builder.output(builder.call("torch.ops.aten.stack.default", {arg("tensors", tensors(weights))},
                              builder.tensor(Dtype::float32, {5, 2})));
  const Program program = std::move(builder).finish().value();
  for (const Box& box : draw(program).boxes)
    if (box.node != nullptr) {
      EXPECT_EQ(box.lines.size(), 4u);
      EXPECT_EQ(std::ranges::count(box.lines, BoxLine::Kind::more, &BoxLine::kind), 0);
    }
}

// A file may nest modules as deep as its text allows, and pass values through all of them.
TEST(Drawing, DeepModulesCostNoMoreThanTheirText) {
  StackedProgram made;
  std::vector<ValueId> values;
  for (int i = 0; i < 200; ++i) values.push_back(made.input(fmt::format("x{}", i)));
  std::string deep = test::entry("", "M"), path;
  for (int level = 0; level < 100; ++level) {
    path += (path.empty() ? "m" : ".m") + std::to_string(level);
    deep += ";" + test::entry(path, "M");
    values.push_back(made.call("cat.default", {arg("tensors", tensors(values))}, deep));
  }
  for (int i = 0; i < 20; ++i)
    made.output(made.call("cat.default", {arg("tensors", tensors(values))}, i % 2 ? deep : ""));
  const Program program = made.finish();
  const Drawing drawing = draw(program, {.depth = kAll});
  EXPECT_LT(drawing.boxes.size(), 20'000u);
  EXPECT_EQ(fault_of(drawing), "");
}

TEST(Drawing, ManyNodesWithoutModulesAreCutIntoParts) {
  StackedProgram made;
  std::vector<ValueId> values{made.input("x")};
  uint32_t random = 1;
  const auto next = [&] { return random = random * 1664525u + 1013904223u; };
  for (int i = 0; i < 5000; ++i) {
    const ValueId a = values[values.size() - 1 - next() % std::min<size_t>(values.size(), 40)];
    const ValueId b = values[next() % values.size()];
    const std::string name = fmt::format("op{}.default", next() % 50);
    values.push_back(made.call(name, {arg("a", a), arg("b", b)}, ""));
  }
  made.output(values.back());
  const Program program = made.finish();
  const Drawing drawing = draw(program);
  EXPECT_EQ(fault_of(drawing), "");
  EXPECT_EQ(loss_of(drawing, program), "");
  for (const Box& box : drawing.boxes) EXPECT_LE(box.children.size(), 2000u);
  EXPECT_EQ(fault_of(draw(program, {.depth = kAll})), "");
}

// Invalid programs, here with cycles, are drawn as far as possible.
TEST(Drawing, CyclesDoNoHarm) {
  StackedProgram made;
  const ValueId x = made.input("x");
  const ValueId a = made.add(x, x, ""), b = made.add(a, x, "");
  made.output(b);
  Program program = made.finish();
  const NodeId first = program.graph.nodes().front();
  program.graph.set_node_input(first, 1, Argument(b));
  program.graph.set_node_input(program.graph.nodes().back(), 1, Argument(b));
  EXPECT_EQ(fault_of(draw(program)), "");
}

TEST(Drawing, OpeningABoxPlacesEverythingAnew) {
  const Program program = make_decoder(4);
  Drawing drawing = draw(program, {.depth = 0});
  const double height = drawing.height;
  for (Box& box : drawing.boxes) box.is_open = !box.children.empty();
  place(drawing);
  EXPECT_GT(drawing.height, height);
  EXPECT_EQ(fault_of(drawing), "");
}

// tests/draw/golden has pictures that `pt2 graph` makes of small programs. PT2_REBASE=1 rewrites
// them.
TEST(Drawing, Golden) {
  for (const std::string name :
       {"mlp", "cond", "input_mutation", "module_calls", "dynamic_nested"}) {
    const Package package = Package::open(PT2_TEST_DATA "/corpus/2.15.0/" + name + ".pt2").value();
    const Drawing drawing = draw(*package.program().value());
    const PageProgram page{.name = "model", .drawing = &drawing};
    const std::pair<std::string, std::string> pictures[] = {
        {"svg", print_svg(drawing, name + ".pt2")},
        {"dot", print_dot(drawing, name + ".pt2")},
        {"json", print_drawing_json(std::span(&page, 1))}};
    for (const auto& [format, text] : pictures) {
      const std::string path = PT2_TEST_DATA "/../draw/golden/" + name + "." + format;
      if (std::getenv("PT2_REBASE") != nullptr) std::ofstream(path, std::ios::binary) << text;
      EXPECT_EQ(text, test::read_file(path)) << path;
    }
  }
}

TEST(OperatorClass, IsTheFamilysOrTheNames) {
  const auto of = [](const char* name) {
    return operator_class_of(std::string("torch.ops.") + name);
  };
  // An operator's family decides before parts of its name: normal and norm are no normalisations.
  EXPECT_EQ(of("aten.normal.Tensor_float"), OperatorClass::constant);
  EXPECT_EQ(of("aten.norm.Scalar"), of("aten.var.correction"));
  EXPECT_EQ(of("aten.layer_norm.default"), OperatorClass::normalisation);
  // Derived forms of operators have the class of the operator.
  EXPECT_EQ(of("aten.relu_.default"), OperatorClass::activation);
  EXPECT_EQ(of("aten.permute_copy.default"), OperatorClass::shape);
  EXPECT_EQ(of("aten.mm.out"), OperatorClass::product);
  // Families with several classes, and operators that are not in the table.
  EXPECT_EQ(of("aten.sigmoid.default"), OperatorClass::activation);
  EXPECT_EQ(of("aten.exp.default"), OperatorClass::pointwise);
  EXPECT_EQ(of("prims.sum.default"), OperatorClass::reduction);
  EXPECT_EQ(of("mine.scale_shift.default"), OperatorClass::other);
  EXPECT_EQ(of("mine.my_conv.default"), OperatorClass::product);
  EXPECT_EQ(of("aten.of_the_future.default"), OperatorClass::pointwise);
}

}  // namespace
}  // namespace pt2
