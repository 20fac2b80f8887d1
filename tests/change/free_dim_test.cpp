// Frees sizes of which the export made constants.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/ir/edit_program.h"
#include "pt2/ir/program_text.h"
#include "pt2/ops/verify_operators.h"
#include "pt2/verify.h"

namespace pt2 {
namespace {

Program program_of_graph(std::string_view graph, std::string_view dialect = "ATEN") {
  const auto inputs =
      std::ranges::count(graph.substr(0, graph.find(") {")), ':');  // each is "%name: type"
  const std::string leaf = R"({"type": null, "context": null, "children_spec": []})";
  std::string leaves = leaf;
  for (auto i = inputs; i > 1; --i) leaves += ", " + leaf;
  const auto node = [](std::string_view type, std::string_view context, std::string_view children) {
    return R"({"type": "builtins.)" + std::string(type) + R"(", "context": ")" +
           std::string(context) + R"(", "children_spec": [)" + std::string(children) + "]}";
  };
  const std::string in =
      node("tuple", "null", node("tuple", "null", leaves) + ", " + node("dict", "[]", ""));
  std::vector<Error> errors;
  return parse_program("program schema 8.20 {\n  torch \"2.15.0\"\n  dialect \"" +
                           std::string(dialect) + "\"\n  opset aten 10\n" + std::string(graph) +
                           "  call \"\" {\n    in_spec '[1, " + in + "]'\n    out_spec '[1, " +
                           leaf + "]'\n  }\n}\n",
                       "text", errors)
      .value();
}

// Frees a size of %x, and returns the sizes of a value then, or why that is refused.
std::string freed(std::string_view graph, std::string_view value, size_t dim = 0,
                  std::string_view dialect = "ATEN") {
  Program program = program_of_graph(graph, dialect);
  const auto done = free_dim(program, "x", dim, "n", {1, 64});
  if (!done) return done.error().message;
  const Diagnostics findings =
      verify_program(program, "edited", Level::full, {.operators = check_operators});
  for (const Diagnostic& finding : findings.all())
    EXPECT_EQ(finding.severity(), Severity::warning) << finding.line();
  std::string out;
  for (const SymInt& size : program.graph.value(*program.graph.find_value(value)).tensor()->sizes)
    out += print(size) + " ";
  return out;
}

TEST(FreeDim, FreesNumbersOfTheNodeThatRefuses) {
  EXPECT_EQ(freed(R"(
  graph(%x: f32[2, 4, 3]) {
    %y: f32[2, 4, 3], %mean: f32[2, 2], %rstd: f32[2, 2] = aten.native_group_norm.default(input=%x, weight=none, bias=none, N=2, C=4, HxW=3, group=2, eps=1e-05) name="norm"
    return %y
  }
)",
                  "y"),
            "n 4 3 ");
  constexpr std::string_view kSplit = R"(
  graph(%x: f32[2, 5]) {
    %cat: f32[6, 5] = aten.cat.default(tensors=[%x, %x, %x])
    [%first: f32[2, 5], %last: f32[4, 5] storage_offset=[10]] = aten.split_with_sizes.default(self=%cat, split_sizes=[2, 4]) name="split"
    return %first
  }
)";
  EXPECT_EQ(freed(kSplit, "first"), "n 5 ");
  EXPECT_EQ(freed(kSplit, "last"), "2*n 5 ");
}

// As many chunks as there are elements, however many were asked for.
TEST(FreeDim, FollowsIntoChunks) {
  EXPECT_EQ(freed(R"(
  graph(%x: f32[2, 3]) {
    [%a: f32[2, 1] strides=[3, 1], %b: f32[2, 1] strides=[3, 1] storage_offset=[1], %c: f32[2, 1] strides=[3, 1] storage_offset=[2]] = aten.chunk.default(self=%x, chunks=128, dim=1) name="chunk"
    return %b
  }
)",
                  "b"),
            "n 1 ");
}

// Ultralytics fills a tensor of the input's sizes with the stride, an element of a buffer.
TEST(FreeDim, FollowsThroughNumbersThatAreElements) {
  EXPECT_EQ(freed(R"(
  symbol zuf0
  range zuf0 [-oo, oo]
  graph(%x: f32[2, 3], %stride: f32[]) {
    %item: SymFloat[zuf0] = aten.item.default(self=%stride)
    %full: f32[2, 1] = aten.new_full.default(self=%x, size=[2, 1], fill_value=%item)
    %cat: f32[2, 4] = aten.cat.default(tensors=[%x, %full], dim=1)
    return %cat
  }
)",
                  "cat"),
            "n 4 ");
}

TEST(FreeDim, FreesTheGroupsOfARepeatedKernel) {
  EXPECT_EQ(freed(R"(
  graph(%x: f32[2, 4, 6], %w: f32[3]) {
    %rows: f32[1, 8, 6] = aten.view.default(self=%x, size=[1, 8, 6])
    %kernel: f32[8, 1, 3] = aten.repeat.default(self=%w, repeats=[8, 1, 1])
    %conv: f32[1, 8, 4] = aten.conv1d.default(input=%rows, weight=%kernel, bias=none, stride=[1], padding=[0], dilation=[1], groups=8)
    return %conv
  }
)",
                  "conv"),
            "1 4*n 4 ");
}

// Numbers further away, which make what is repeated, stay.
TEST(FreeDim, FreesTheNearestNumberOfEachOperand) {
  EXPECT_EQ(freed(R"(
  graph(%x: f32[1, 3, 8], %w: f32[8]) {
    %row: f32[1, 8] = aten.repeat.default(self=%w, repeats=[1, 1])
    %rows: f32[1, 1, 8] = aten.unsqueeze.default(self=%row, dim=0)
    %first: f32[1, 1, 8] = aten.repeat.default(self=%rows, repeats=[1, 1, 1])
    %line: f32[1, 8] = aten.repeat.default(self=%w, repeats=[1, 1])
    %lines: f32[1, 1, 8] = aten.unsqueeze.default(self=%line, dim=0)
    %second: f32[1, 1, 8] = aten.repeat.default(self=%lines, repeats=[1, 1, 1])
    %cat: f32[1, 5, 8] = aten.cat.default(tensors=[%x, %first, %second], dim=1)
    return %cat
  }
)",
                  "cat"),
            "n 5 8 ");
}

// What one constant needs to become larger does not count against another one.
TEST(FreeDim, FreesSeveralConstantsBeforeOneNode) {
  EXPECT_EQ(freed(R"(
  graph(%x: f32[2, 3], %w: f32[3]) {
    %token: f32[2, 3] = aten.expand.default(self=%w, size=[2, 3])
    %first: f32[2, 3] = aten.zeros.default(size=[2, 3], *, dtype=f32, device=device cpu, pin_memory=false)
    %filled: f32[2, 3] = aten.copy_.default(self=%first, src=%token)
    %second: f32[2, 3] = aten.zeros.default(size=[2, 3], *, dtype=f32, device=device cpu, pin_memory=false)
    %written: f32[2, 3] = aten.copy_.default(self=%second, src=%x)
    %y: f32[2, 3] = aten.add.Tensor(self=%first, other=%second)
    return %y
  }
)",
                  "token", 0, "TRAINING"),
            "n 3 ");
}

TEST(FreeDim, FollowsIntoOuts) {
  EXPECT_EQ(freed(R"(
  graph(%x: f32[2, 3]) {
    %neg: f32[2, 3] = aten.neg.default(self=%x)
    %maximum: f32[2, 3] = aten.maximum.out(self=%neg, other=%x, *, out=%neg)
    return %maximum
  }
)",
                  "maximum", 0, "TRAINING"),
            "n 3 ");
  EXPECT_EQ(freed(R"(
  graph(%x: f32[2, 3]) {
    %empty: f32[2, 3] = aten.zeros.default(size=[2, 3], *, dtype=f32, device=device cpu, pin_memory=false)
    %maximum: f32[2, 3] = aten.maximum.out(self=%x, other=%x, *, out=%empty)
    return %maximum
  }
)",
                  "empty", 0, "TRAINING"),
            "n 3 ");
}

// Before the batch, no operator refuses the one row that arange(1) counts, or a mask of two.
TEST(FreeDim, FreesWhatCountsTheBatch) {
  EXPECT_EQ(freed(R"(
  graph(%x: f32[1, 6, 16]) {
    %row: f32[1, 6] strides=[96, 16] = aten.select.int(self=%x, dim=2, index=0)
    %i: i64[1] = aten.argmax.default(self=%row, dim=1)
    %arange: i64[1] = aten.arange.default(end=1, *, device=device cpu, pin_memory=false)
    %index: f32[1, 16] = aten.index.Tensor(self=%x, indices=[%arange, %i])
    return %index
  }
)",
                  "arange"),
            "n ");
  constexpr std::string_view kMask = R"(
  graph(%x: f32[2, 8]) {
    %ones: bool[2, 8] = aten.ones.default(size=[2, 8], *, dtype=bool, device=device cpu)
    %arange: i64[2] = aten.arange.default(end=2, *, device=device cpu, pin_memory=false)
    %mask: bool[2, 8] = aten.index.Tensor(self=%ones, indices=[%arange])
    %y: f32[2, 8] = aten.mul.Tensor(self=%x, other=%mask)
    return %y
  }
)";
  EXPECT_EQ(freed(kMask, "ones"), "n 8 ");
  EXPECT_EQ(freed(kMask, "y"), "n 8 ");
  EXPECT_EQ(freed(R"(
  graph(%x: i64[2, 7], %w: f32[20, 16]) {
    %arange: i64[2] = aten.arange.start_step(start=0, end=14, step=7, *, dtype=i64, device=device cpu, pin_memory=false)
    %rows: i64[14] = aten.view.default(self=%x, size=[14])
    %y: f32[2, 16], %a: i64[14], %b: i64[2], %c: i64[2] = aten._embedding_bag.default(weight=%w, indices=%rows, offsets=%arange, scale_grad_by_freq=false, mode=1) name="bag"
    return %y
  }
)",
                  "y"),
            "n 16 ");
}

// The values say where they go, but the tensor that they go to has the old size.
TEST(FreeDim, FreesWhatIsWrittenTo) {
  EXPECT_EQ(freed(R"(
  graph(%x: i64[1, 3]) {
    %zeros: f32[1, 6] = aten.zeros.default(size=[1, 6], *, dtype=f32, device=device cpu)
    %y: f32[1, 6] = aten.scatter.value(self=%zeros, dim=1, index=%x, value=1.0)
    return %y
  }
)",
                  "y"),
            "n 6 ");
  EXPECT_EQ(freed(R"(
  graph(%x: i64[2, 8]) {
    %rows: i64[16] = aten.view.default(self=%x, size=[16])
    %zeros: i64[16] = aten.zeros.default(size=[16], *, dtype=i64, device=device cpu)
    %places: i64[16] = aten.arange.default(end=16, *, device=device cpu, pin_memory=false)
    %y: i64[16] = aten.index_put.default(self=%zeros, indices=[%rows], values=%places)
    return %y
  }
)",
                  "y"),
            "8*n ");
}

// The sums for the nodes of a graph: only the number of nodes tells the size of the result.
TEST(FreeDim, FreesWhatElementsAreAddedTo) {
  EXPECT_EQ(freed(R"(
  graph(%x: f32[5, 3], %from: i64[7], %to: i64[7, 3]) {
    %first: f32[7, 3] = aten.index_select.default(self=%x, dim=0, index=%from)
    %nodes: f32[5, 3] = aten.zeros.default(size=[5, 3], *, dtype=f32, device=device cpu)
    %sums: f32[5, 3] = aten.scatter_add.default(self=%nodes, dim=0, index=%to, src=%first)
    %second: f32[7, 3] = aten.index_select.default(self=%sums, dim=0, index=%from)
    %others: f32[5, 3] = aten.zeros.default(size=[5, 3], *, dtype=f32, device=device cpu)
    %y: f32[5, 3] = aten.scatter_add.default(self=%others, dim=0, index=%to, src=%second)
    return %y
  }
)",
                  "y"),
            "n 3 ");
}

// A mean over the batch stays one, and so does a covariance, although no size tells.
TEST(FreeDim, FreesWhatSumsAreDividedBy) {
  for (const int64_t divisor : {4, 3, 5, 2}) {
    Program program = program_of_graph(R"(
  graph(%x: f32[4, 6]) {
    %t: f32[6, 4] strides=[1, 6] = aten.t.default(self=%x)
    %sums: f32[6, 6] = aten.mm.default(self=%t, mat2=%x)
    %y: f32[6, 6] = aten.div.Tensor(self=%sums, other=)" +
                                       std::to_string(divisor) + R"()
    return %y
  }
)");
    ASSERT_TRUE(free_dim(program, "x", 0, "n", {1, 64}));
    const Graph& graph = program.graph;
    const Definition& made = graph.value(*graph.find_value("y")).definition;
    const Argument& other = *graph.node(made.node).find_input("other");
    EXPECT_EQ(other.is<ValueId>(), divisor == 4 || divisor == 3);
    if (const auto* size = other.get_if<ValueId>()) {
      EXPECT_EQ(print(std::get<SymInt>(graph.value(*size).meta)), divisor == 4 ? "n" : "n - 1");
    }
  }
}

TEST(FreeDim, FreesTheMaskOfAttention) {
  EXPECT_EQ(freed(R"(
  graph(%x: f32[2, 1, 6, 16]) {
    %mask: bool[2, 1, 6, 6] = aten.ones.default(size=[2, 1, 6, 6], *, dtype=bool, device=device cpu)
    %y: f32[2, 1, 6, 16] = aten.scaled_dot_product_attention.default(query=%x, key=%x, value=%x, attn_mask=%mask)
    return %y
  }
)",
                  "mask"),
            "n 1 6 6 ");
}

// Of several sizes of 1, only what comes later tells which is the batch.
TEST(FreeDim, ChoosesThePlaceOfTheBatchAnew) {
  constexpr std::string_view kSteps = R"(
  graph(%x: f32[1, 8], %u: f32[8, 8]) {
    %h: f32[1, 8] = aten.mm.default(self=%x, mat2=%u)
    %view: f32[1, 1, 8] = aten.view.default(self=%h, size=[1, 1, 8])
    %y: f32[1, 1, 8] = aten.add.Tensor(self=%view, other=%x)
    return %y
  }
)";
  EXPECT_EQ(freed(kSteps, "y"), "1 n 8 ");
  // Instance norm: the channels of all images are those of one.
  constexpr std::string_view kNorm = R"(
  graph(%x: f32[1, 8, 6, 6], %w: f32[8]) {
    %repeat: f32[8] = aten.repeat.default(self=%w, repeats=[1])
    %view: f32[1, 8, 6, 6] = aten.view.default(self=%x, size=[1, 8, 6, 6])
    %norm: f32[1, 8, 6, 6], %a: f32[8], %b: f32[8] = aten._native_batch_norm_legit.no_stats(input=%view, weight=%repeat, bias=%repeat, training=true, momentum=0.1, eps=1e-05) name="stats"
    %y: f32[1, 8, 6, 6] = aten.view.default(self=%norm, size=[1, 8, 6, 6])
    return %y
  }
)";
  EXPECT_EQ(freed(kNorm, "view"), "1 8*n 6 6 ");
  EXPECT_EQ(freed(kNorm, "repeat"), "8*n ");
  EXPECT_EQ(freed(kNorm, "y"), "n 8 6 6 ");
  // A stack of the last states of one layer.
  EXPECT_EQ(freed(R"(
  graph(%x: f32[1, 8]) {
    %cat: f32[1, 8] = aten.cat.default(tensors=[%x])
    %y: f32[1, 1, 8] = aten.view.default(self=%cat, size=[1, 1, 8])
    return %y
  }
)",
                  "y"),
            "1 n 8 ");
}

// 3 rows of n times 2 may be viewed as 3*n of 2 or as 3 of 2*n. The product tells which, without a
// table that has three rows for each batch.
TEST(FreeDim, RatherMovesTheBatchThanCountsMultiples) {
  constexpr std::string_view kRows = R"(
  graph(%x: f32[1, 3, 2, 8], %w: f32[4, 8, 5]) {
    %rows: f32[3, 1, 2, 8] strides=[16, 48, 8, 1] = aten.permute.default(self=%x, dims=[1, 0, 2, 3])
    %clone: f32[3, 1, 2, 8] = aten.clone.default(self=%rows, *, memory_format=contiguous_format)
    %view: f32[3, 2, 8] = aten.view.default(self=%clone, size=[3, 2, 8])
    %arange: i64[3] = aten.arange.default(end=3, *, device=device cpu, pin_memory=false)
    %table: f32[3, 8, 5] = aten.index.Tensor(self=%w, indices=[%arange])
    %y: f32[3, 2, 5] = aten.bmm.default(self=%view, mat2=%table)
    return %y
  }
)";
  EXPECT_EQ(freed(kRows, "arange"), "3 ");
  EXPECT_EQ(freed(kRows, "y"), "3 2*n 5 ");
}

// n copies of 5 rows cannot be viewed as 5 rows of n.
TEST(FreeDim, KeepsTheOrderOfRepeatedRows) {
  EXPECT_EQ(freed(R"(
  graph(%x: f32[6, 1, 16], %q: f32[5, 16]) {
    %unsqueeze: f32[5, 1, 16] = aten.unsqueeze.default(self=%q, dim=1)
    %repeat: f32[5, 1, 16] = aten.repeat.default(self=%unsqueeze, repeats=[1, 1, 1])
    %query: f32[5, 2, 8] = aten.view.default(self=%repeat, size=[5, 2, 8])
    %rows: f32[2, 5, 8] = aten.permute.default(self=%query, dims=[1, 0, 2])
    %key: f32[6, 2, 8] = aten.view.default(self=%x, size=[6, 2, 8])
    %columns: f32[2, 8, 6] = aten.permute.default(self=%key, dims=[1, 2, 0])
    %y: f32[2, 5, 6] = aten.bmm.default(self=%rows, mat2=%columns)
    return %y
  }
)",
                  "repeat", 1),
            "5 n 16 ");
}

// At a batch of 1, a view suffices where other batches need a copy.
TEST(FreeDim, CopiesWhatHasNoView) {
  constexpr std::string_view kRows = R"(
  graph(%x: f32[1, 5, 16]) {
    %permute: f32[5, 1, 16] strides=[16, 80, 1] = aten.permute.default(self=%x, dims=[1, 0, 2])
    %y: f32[5, 16] = aten.view.default(self=%permute, size=[5, 16])
    return %y
  }
)";
  EXPECT_EQ(freed(kRows, "clone"), "5 n 16 ");
  EXPECT_EQ(freed(kRows, "y"), "5*n 16 ");
  // The strides of n x 5 x 16 in the memory of 5 x n x 16.
  constexpr std::string_view kTurned = R"(
  graph(%x: f32[5, 1, 16]) {
    %permute: f32[1, 5, 16] strides=[16, 16, 1] = aten.permute.default(self=%x, dims=[1, 0, 2])
    %y: f32[5, 16] = aten.view.default(self=%permute, size=[5, 16])
    return %y
  }
)";
  EXPECT_EQ(freed(kTurned, "clone", 1), "n 5 16 ");
}

// A part of a model under torch.no_grad is a nested graph.
TEST(FreeDim, FollowsIntoRegions) {
  constexpr std::string_view kRegion = R"(
  graph(%x: f32[2, 6]) {
    %y: f32[2, 6] = higher_order.wrap_with_set_grad_enabled(false, graph body(%a: f32[2, 6]) {
      %s: f32[2, 6] = aten.sin.default(self=%a)
      return %s
    }, %x)
    return %y
  }
)";
  EXPECT_EQ(freed(kRegion, "s"), "n 6 ");
  EXPECT_EQ(freed(kRegion, "y"), "n 6 ");
}

TEST(FreeDim, RefusesToMixBatches) {
  EXPECT_EQ(freed(R"(
  graph(%x: f32[1, 6]) {
    %permute: f32[6, 1] strides=[1, 6] = aten.permute.default(self=%x, dims=[1, 0])
    %y: f32[6, 6] = aten.mm.default(self=%permute, mat2=%x)
    return %y
  }
)",
                  "y"),
            "it sums over the size");
  EXPECT_EQ(freed(R"(
  graph(%x: f32[1, 6]) {
    %permute: f32[6, 1] strides=[1, 6] = aten.permute.default(self=%x, dims=[1, 0])
    %y: f32[6, 6] = aten.linear.default(input=%permute, weight=%permute, bias=none)
    return %y
  }
)",
                  "y"),
            "it sums over the size");
  EXPECT_EQ(freed(R"(
  graph(%x: f32[1, 6]) {
    %y: f32[6] = aten.select.int(self=%x, dim=0, index=0)
    return %y
  }
)",
                  "y"),
            "it takes one of a size of 1");
}

// The equation of an einsum says that it sums over the batch.
TEST(FreeDim, EinsumMaySumOverTheBatch) {
  EXPECT_EQ(freed(R"(
  graph(%x: f32[1, 6]) {
    %y: f32[6, 6] = aten.einsum.default(equation="bn,bm->nm", tensors=[%x, %x])
    return %y
  }
)",
                  "y"),
            "6 6 ");
}

}  // namespace
}  // namespace pt2
