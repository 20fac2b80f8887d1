#include "tools/values/solved_guards.h"

#include <gtest/gtest.h>

#include "pt2/ir/builder.h"

namespace pt2::tools {
namespace {

using Lines = std::vector<std::string>;

// Returns the solved guards of a program with x: f32[s] and y: f32[t] and s, t in `range`.
Lines solved(SymRange range, std::vector<std::string> guards) {
  ProgramBuilder builder;
  const SymInt s = builder.dim("s", range, 8), t = builder.dim("t", range, 8);
  const auto x = builder.input("x", builder.tensor(Dtype::float32, {s}));
  builder.input("y", builder.tensor(Dtype::float32, {t}));
  builder.output(builder.call("torch.ops.aten.relu.default", {arg("self", x)},
                              builder.tensor(Dtype::float32, {s})));
  Program program = std::move(builder).finish().value();
  program.guards_code = std::move(guards);
  return solved_guards(program);
}

const std::string kEven = "((L['x'].size()[0]) % 2) == 0";

TEST(SolvedGuards, AreTheSizesThatAreLeft) {
  EXPECT_EQ(solved({3, 21}, {kEven}), Lines{"x dim 0: 4, 6, … 20"});
  EXPECT_EQ(solved({3, 9}, {kEven}), Lines{"x dim 0: 4, 6, 8"});
  EXPECT_EQ(solved({3, std::nullopt}, {kEven}), Lines{"x dim 0: 4, 6, 8, …"});
  EXPECT_EQ(solved({3, 21}, {kEven, "L['x'].size()[0] >= 10"}),
            Lines{"x dim 0: 10, 12, 14, 16, 18, 20"});
  EXPECT_EQ(solved({3, 21}, {"L['x'].size()[0] >= 10"}), Lines{"x dim 0: 10 to 21"});
  EXPECT_EQ(solved({3, 5}, {kEven, "L['x'].size()[0] > 4"}), Lines{"x dim 0: no size at all"});
}

TEST(SolvedGuards, SayNothingThatTypesSay) {
  EXPECT_EQ(solved({3, 21}, {"L['x'].size()[0] >= 2"}), Lines{});
  EXPECT_EQ(solved({3, std::nullopt}, {"L['x'].size()[0] >= 2"}), Lines{});
}

TEST(SolvedGuards, OfTheLargestSizesEnd) {
  EXPECT_EQ(solved({INT64_MAX - 9, std::nullopt}, {"L['x'].size()[0] > 7"}), Lines{});
  EXPECT_EQ(solved({INT64_MAX - 9, INT64_MAX}, {"L['x'].size()[0] > 7"}), Lines{});
}

TEST(SolvedGuards, StayAsTheyAreWhereNoListSaysThem) {
  EXPECT_EQ(solved({3, 21}, {"L['x'].size()[0] == L['y'].size()[0]"}),
            Lines{"size 0 of x must equal size 0 of y"});
  // Trying sizes one by one would take long for a guard of thousands of terms.
  std::string wide = "L['x'].size()[0]";
  for (int i = 0; i < 10'000; ++i) wide += "+1";
  EXPECT_NE(solved({3, std::nullopt}, {wide + " > 10005"}).at(0).find("size 0 of x"),
            std::string::npos);
  EXPECT_EQ(solved({3, 21}, {"exit("}), Lines{"exit("});
  // The guard holds for all sizes that are tried one by one, but not for very large ones.
  EXPECT_EQ(solved({3, std::nullopt}, {"L['x'].size()[0] < 1000000"}),
            Lines{"size 0 of x must be less than 1000000"});
}

}  // namespace
}  // namespace pt2::tools
