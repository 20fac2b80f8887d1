// What the readers of 2.1 to 2.4 do otherwise. Each test is of a file that the release refused.
#include <gtest/gtest.h>

#include "convert/edited.h"
#include "pt2/ir/edit.h"

namespace pt2 {
namespace {

using test::blockers;
using test::edited;
using test::saved;

TEST(Convert, NamesConstantsThatTheReadersOf2_1And2_2DoNotTake) {
  for (const std::string_view target : {"2.1", "2.2"})
    EXPECT_NE(blockers("2.15.0/constant_inputs", target).find(": a constant;"), std::string::npos);
  EXPECT_EQ(blockers("2.15.0/constant_inputs", "2.3").find("input:"), std::string::npos);
  EXPECT_NE(blockers("2.15.0/constant_outputs", "2.1").find(": None;"), std::string::npos);
}

TEST(Convert, NamesNumbersAmongResultsThat2_2DoesNotTake) {
  EXPECT_NE(blockers("2.15.0/custom_op_returns", "2.2").find(": a number beside other results;"),
            std::string::npos);
  EXPECT_EQ(blockers("2.15.0/custom_op_returns", "2.3").find("output:"), std::string::npos);
  const Package package = edited("2.15.0/constant_outputs", [](Program& program) {
    std::vector<Argument> outputs(program.graph.outputs().begin(), program.graph.outputs().end());
    std::swap(outputs[0], outputs[1]);
    std::swap(program.signature.output_specs[0], program.signature.output_specs[1]);
    program.graph.set_outputs(std::move(outputs));
  });
  EXPECT_NE(blockers(package, "2.2").find(": a tensor behind a number;"), std::string::npos);
  EXPECT_EQ(blockers(package, "2.3").find(": a tensor behind a number;"), std::string::npos);
}

TEST(Convert, NamesContainersThat2_1HasNotRegistered) {
  const Package package = edited("2.15.0/pytree_nested", [](Program& program) {
    std::string& spec = program.module_call_graph[0].signature->out_spec;
    const size_t at = spec.find("builtins.list");
    ASSERT_NE(at, std::string::npos);
    spec.replace(at, std::string_view("builtins.list").size(), "collections.deque");
  });
  EXPECT_NE(blockers(package, "2.1").find(": collections.deque; needs PyTorch 2.2"),
            std::string::npos);
  EXPECT_EQ(blockers(package, "2.2").find("collections.deque"), std::string::npos);
}

}  // namespace
}  // namespace pt2
