// Compares the rows of ir/higher_order.def with every call in real programs.
#include "ir/higher_order.h"

#include <gtest/gtest.h>

#include <set>

#include "ir/graph_place.h"
#include "ir/target.h"
#include "package/corpus.h"
#include "pt2/package.h"

namespace pt2 {
namespace {

void expect_as_the_row_says(const Graph& graph, const Node& node, const HigherOrderRow& row) {
  SCOPED_TRACE(node_place(graph, node));
  const size_t behind = size_t{row.first_graph} + row.graph_count;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Argument& argument = node.inputs[i].arg;
    EXPECT_EQ(argument.is<SubgraphId>(), i >= row.first_graph && i < behind) << i;
    EXPECT_EQ(argument.is<OperatorName>(), static_cast<int>(i) == row.callee) << i;
  }
  EXPECT_EQ(called_operator(node) != nullptr, row.callee >= 0);
}

TEST(HigherOrder, RowsSayWhereGraphsAndCalleesStand) {
  std::set<std::string_view> met;
  for (const corpus::File& file : corpus::files()) {
    SCOPED_TRACE(file.path);
    const auto package = Package::open(file.path);
    ASSERT_TRUE(package) << package.error().text();
    for (const std::string& model : package->models()) {
      const auto program = package->program(model);
      ASSERT_TRUE(program) << program.error().text();
      for (const PlacedGraph& placed : placed_graphs(**program))
        for (const NodeId id : placed.graph->nodes()) {
          const Node& node = placed.graph->node(id);
          const HigherOrderRow* row = find_higher_order_operator(node.target);
          EXPECT_EQ(row != nullptr, target_form(node.target) == TargetForm::higher_order);
          if (row == nullptr || (row->graph_count == 0 && row->callee < 0)) continue;
          met.insert(row->name);
          expect_as_the_row_says(*placed.graph, node, *row);
        }
    }
  }
  EXPECT_GE(met.size(), 6u);
}

TEST(HigherOrder, TargetsOfAllReleasesNameTheSameRow) {
  const HigherOrderRow* cond = find_higher_order_operator("torch.ops.higher_order.cond");
  ASSERT_NE(cond, nullptr);
  EXPECT_EQ(find_higher_order_operator("torch.ops.cond"), cond);
  EXPECT_EQ(find_higher_order_operator("torch._higher_order_ops.cond.cond"), cond);
  EXPECT_EQ(find_higher_order_operator("torch.ops.aten.cond.default"), nullptr);
  EXPECT_EQ(find_higher_order_operator("torch._C._set_grad_enabled"), nullptr);
}

}  // namespace
}  // namespace pt2
