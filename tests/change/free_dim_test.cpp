// Frees sizes that a program was exported with.
#include <gtest/gtest.h>

#include "pt2/ir/builder.h"
#include "pt2/ir/edit_program.h"
#include "pt2/ir/program_text.h"
#include "pt2/ops/verify_operators.h"
#include "pt2/verify.h"

namespace pt2 {
namespace {

std::string sizes_text_of(const Program& program, std::string_view value) {
  const GraphValue& found = program.graph.value(*program.graph.find_value(value));
  std::string out;
  for (const SymInt& size : found.tensor()->sizes) out += print(size) + " ";
  return out;
}

// Other places for the freed size fit every trial, too. view(rows, [8, 5, 3, -1, 8]) would take the
// heads for the batch, and attend across the wrong rows.
TEST(FreeDim, FreesTheSizeThatAReshapeKeeps) {
  const auto freed = [](const Sizes& from, size_t dim, const Sizes& to, const Sizes& written) {
    ProgramBuilder builder;
    const auto meta = [&](const Sizes& sizes) {
      return builder.tensor(Dtype::float32, std::vector<SymInt>(sizes.begin(), sizes.end()));
    };
    const ValueId x = builder.input("x", meta(from));
    const ValueId y = builder.call("torch.ops.aten.reshape.default",
                                   {arg("self", x), arg("shape", ints(written))}, meta(to));
    builder.output(y);
    Program program = std::move(builder).finish().value();
    EXPECT_TRUE(free_dim(program, "x", dim, "n", {1, 64}).has_value());
    return sizes_text_of(program, program.graph.value(y).name);
  };
  EXPECT_EQ(freed({2, 4, 9}, 0, {8, 9}, {8, 9}), "4*n 9 ");
  EXPECT_EQ(freed({2, 3, 4}, 0, {2, 12}, {2, -1}), "n 12 ");
  EXPECT_EQ(freed({1, 3, 4}, 0, {1, 12}, {1, -1}), "n 12 ");
  EXPECT_EQ(freed({2, 20, 48}, 0, {8, 5, 3, 2, 8}, {8, 5, 3, 2, 8}), "4*n 5 3 2 8 ");
  // Attention with the sequence first: heads join the batch; later, the batch joins the sequence.
  EXPECT_EQ(freed({4, 1, 16}, 1, {4, 2, 8}, {4, 2, 8}), "4 2*n 8 ");
  EXPECT_EQ(freed({4, 1, 16}, 1, {4, 16}, {4, 16}), "4*n 16 ");
}

// As models repeat a class token, and positions, for each image of a batch.
TEST(FreeDim, FreesTheSizeOfTensorsMadeForABatch) {
  std::vector<Error> errors;
  Program program = parse_program(R"(program schema 8.20 {
  torch "2.15.0"
  dialect "TRAINING"
  opset aten 10

  graph(
      %x: f32[1, 5, 6]
  ) {
    %token: f32[1, 1, 6] = aten.zeros.default(size=[1, 1, 6], *, dtype=f32, device=device cpu)
    %row: f32[6] = aten.ones.default(size=[6], *, dtype=f32, device=device cpu)
    %expand: f32[1, 2, 6] = aten.expand.default(self=%row, size=[1, 2, 6])
    %twice: f32[1, 2, 6] = aten.mul.Tensor(self=%expand, other=2)
    %cat: f32[1, 8, 6] = aten.cat.default(tensors=[%token, %x, %twice], dim=1)
    return %cat
  }

  call "" {
    in_spec '[1, {"type": "builtins.tuple", "context": "null", "children_spec": [{"type": "builtins.tuple", "context": "null", "children_spec": [{"type": null, "context": null, "children_spec": []}]}, {"type": "builtins.dict", "context": "[]", "children_spec": []}]}]'
    out_spec '[1, {"type": null, "context": null, "children_spec": []}]'
  }
}
)",
                                  "text", errors)
                        .value();
  ASSERT_TRUE(free_dim(program, "x", 0, "n", {1, 64}).has_value());
  EXPECT_EQ(sizes_text_of(program, "token"), "n 1 6 ");
  EXPECT_EQ(sizes_text_of(program, "twice"), "n 2 6 ");
  EXPECT_EQ(sizes_text_of(program, "cat"), "n 8 6 ");
  const Diagnostics findings =
      verify_program(program, "edited", Level::full, {.operators = check_operators});
  for (const Diagnostic& finding : findings.all())
    EXPECT_EQ(finding.severity(), Severity::warning) << finding.line();
}

}  // namespace
}  // namespace pt2
