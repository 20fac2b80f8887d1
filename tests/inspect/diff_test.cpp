#include "pt2/tools/diff.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "pt2/ir/program_text.h"
#include "pt2/package.h"
#include "pt2/tools/hash.h"
#include "pt2/tools/stats.h"

namespace pt2 {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kProgram = R"(program schema 8.20 {
  torch "2.15.0"
  dialect "TRAINING"
  opset aten 10

  graph(
      %p_w: f32[3, 8] requires_grad = parameter "fc.weight",
      %x: f32[2, 8]
  ) {
    %linear: f32[2, 3] = aten.linear.default(input=%x, weight=%p_w)
    %add: f32[2, 3] = aten.add.Tensor(self=%linear, other=1)
    %relu: f32[2, 3] = aten.relu.default(self=%add)
    %mul: f32[2, 3] = aten.mul.Tensor(self=%relu, other=%linear)
    return %mul
  }

  call "" {
    in_spec '[1, {"type": "builtins.tuple", "context": "null", "children_spec": [{"type": "builtins.tuple", "context": "null", "children_spec": [{"type": null, "context": null, "children_spec": []}]}, {"type": "builtins.dict", "context": "[]", "children_spec": []}]}]'
    out_spec '[1, {"type": null, "context": null, "children_spec": []}]'
    forward_arg_names ["x"]
  }
}
)";

Program parse(std::string text) {
  std::vector<Error> errors;
  auto program = parse_program(text, "test", errors);
  EXPECT_TRUE(program.has_value()) << (errors.empty() ? "" : errors[0].text());
  return *std::move(program);
}

// Returns the program with every `from` in its text replaced by `to`.
Program edited(std::initializer_list<std::pair<std::string_view, std::string_view>> edits) {
  std::string text(kProgram);
  for (const auto& [from, to] : edits)
    for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  return parse(text);
}

std::vector<std::string> lines(const Program& after, bool semantic = false) {
  std::vector<std::string> out;
  for (const Change& change :
       diff_programs(parse(std::string(kProgram)), after, {.semantic = semantic}).changes)
    out.push_back(change.line());
  return out;
}

using Lines = std::vector<std::string>;

TEST(Diff, EqualProgramsHaveNoChanges) { EXPECT_EQ(lines(edited({})), Lines{}); }

// PyTorch 2.5 to 2.7 give tied weights one name.
TEST(Diff, TiedWeightsCorrespondInOrder) {
  for (const std::string release : {"2.5.1", "2.7.1", "2.15.0"}) {
    const auto package =
        Package::open(std::string(PT2_TEST_DATA) + "/corpus/" + release + "/tied_weights.pt2");
    ASSERT_TRUE(package.has_value()) << release;
    const Program& program = *package->program().value();
    for (const bool semantic : {false, true}) {
      const auto changes = diff_programs(program, program, {.semantic = semantic}).changes;
      EXPECT_TRUE(changes.empty()) << release << ": " << changes[0].line();
    }
  }
}

TEST(Diff, OneConstantIsOneLine) {
  EXPECT_EQ(lines(edited({{"other=1)", "other=2)"}})),
            Lines{"~ %add (aten.add.Tensor): other=1 -> other=2"});
}

TEST(Diff, OneOperatorIsOneLine) {
  EXPECT_EQ(lines(edited({{"aten.relu.default", "aten.sigmoid.default"}})),
            Lines{"~ %relu: aten.relu.default -> aten.sigmoid.default"});
}

TEST(Diff, AnInsertedNodeIsALineAndItsUse) {
  EXPECT_EQ(
      lines(edited({{"    %relu:", "    %neg: f32[2, 3] = aten.neg.default(self=%add)\n    %relu:"},
                    {"relu.default(self=%add)", "relu.default(self=%neg)"}})),
      (Lines{"+ %neg (aten.neg.default): self=%add",
             "~ %relu (aten.relu.default): self=%add -> self=%neg"}));
}

TEST(Diff, NamesAreNoSemantics) {
  const Program renamed = edited({{"%linear", "%a"}, {"%add", "%b"}, {"2.15.0", "2.9.0"}});
  EXPECT_EQ(lines(renamed, true), Lines{});
  EXPECT_EQ(lines(renamed), (Lines{"~ PyTorch: 2.15.0 -> 2.9.0", "~ 2 nodes with another name"}));
}

// Differences without meaning: some releases write default arguments and some omit them, the cuDNN
// flag depends on the machine, and PyTorch 2.15's strict mode omits unused buffers.
TEST(Diff, WhatSaysNothingIsNoSemantics) {
  const std::pair<std::string_view, std::string_view> norm{
      "aten.relu.default(self=%add)", "aten.layer_norm.default(input=%add, normalized_shape=[3])"};
  const auto with = [&](std::string_view more) {
    const std::string call = "normalized_shape=[3]" + std::string(more);
    return edited({norm, {"normalized_shape=[3]", call}});
  };
  const Program plain = with("");
  const auto count = [&](const Program& other, bool semantic) {
    return diff_programs(plain, other, {.semantic = semantic}).changes.size();
  };
  for (const std::string_view more : {", weight=none, eps=1e-05", ", cudnn_enable=false"}) {
    EXPECT_EQ(hash_program(plain), hash_program(with(more))) << more;
    EXPECT_EQ(count(with(more), true), 0u) << more;
    EXPECT_NE(count(with(more), false), 0u) << more;
  }
  EXPECT_NE(hash_program(plain), hash_program(with(", eps=1e-06")));
  EXPECT_EQ(count(with(", eps=1e-06"), true), 1u);
  // Also if something else differs, so that the hashes differ.
  EXPECT_EQ(count(edited({norm,
                          {"other=1)", "other=2)"},
                          {"normalized_shape=[3]", "normalized_shape=[3], eps=1e-05"}}),
                  true),
            1u);
}

TEST(Diff, WeightsThatNothingReadsAreNoSemantics) {
  const Program more =
      edited({{"      %x: f32[2, 8]\n", "      %b_n: i64[] = buffer \"n\",\n      %x: f32[2, 8]\n"},
              {"other=1)", "other=2)"}});
  EXPECT_EQ(lines(more, true), Lines{"~ %add (aten.add.Tensor): other=1 -> other=2"});
  EXPECT_EQ(lines(more).size(), 2u);
}

TEST(Diff, SizesAreToldWhereTheyBegin) {
  EXPECT_EQ(lines(edited({{"f32[2,", "f32[5,"}}), true),
            (Lines{"~ input x: f32[2, 8] -> f32[5, 8]",
                   "~ output 0: user_output f32[2, 3] -> user_output f32[5, 3]"}));
}

TEST(Diff, TheOrderOfIndependentNodesIsNoMatter) {
  const std::string text = std::string(kProgram);
  const Program a =
      edited({{"    %add:", "    %neg: f32[2, 8] = aten.neg.default(self=%x)\n    %add:"}});
  const Program b =
      edited({{"    %mul:", "    %neg: f32[2, 8] = aten.neg.default(self=%x)\n    %mul:"}});
  EXPECT_EQ(hash_program(a), hash_program(b));
  EXPECT_TRUE(diff_programs(a, b).empty());
}

// A few bytes of a file can refer to a long text in it. With a copy of the text for each reference,
// these programs would take gigabytes.
TEST(Diff, LongTextsThatManyUsesNameAreShort) {
  const std::string letters(300'000, 'w');
  std::string list = "%p_w";
  for (int i = 0; i < 30'000; ++i) list += ", %p_w";
  const std::string node = "    %big: f32[9] = aten.cat.default(tensors=[" + list + "])\n    %mul:";
  const auto make = [&](const std::string& weight, std::string_view length) {
    std::string call = node;
    call.replace(call.find("f32[9]"), 6, length);
    return edited({{"fc.weight", weight}, {"    %mul:", call}});
  };
  const Program a = make(letters + "a", "f32[9]"), b = make(letters + "b", "f32[9]"),
                longer = make(letters + "a", "f32[10]");
  EXPECT_NE(hash_program(a), hash_program(b));
  EXPECT_EQ(diff_programs(a, longer).changes.size(), 1u);
  EXPECT_FALSE(diff_programs(a, b).empty());

  // The name of a value comes from the other file.
  const Program named = edited({{"%p_w", "%" + letters},
                                {"    %mul:", "    %big: f32[9] = aten.cat.default(tensors=[%" +
                                                  letters + "])\n    %mul:"}});
  const Program listed = edited({{"    %mul:", node}});
  for (const Change& change : diff_programs(named, listed).changes)
    EXPECT_LT(change.after.size(), 20'000'000u);

  // A node with many changes has one long place.
  std::string zeros, ones;
  for (int i = 0; i < 3'000; ++i) {
    zeros += fmt::format("a{}=0, ", i);
    ones += fmt::format("a{}=1, ", i);
  }
  const auto call = [&](const std::string& arguments) {
    return edited(
        {{"    %mul:", fmt::format("    %{}: f32[2] = my.op.default({}self=%x)\n    %mul:", letters,
                                   arguments)}});
  };
  const Difference found = diff_programs(call(zeros), call(ones));
  ASSERT_EQ(found.changes.size(), 3'000u);
  EXPECT_LT(found.changes[0].what.size(), 500u);

  // A linear search among all arguments for each argument would take minutes.
  std::string many;
  for (int i = 0; i < 200'000; ++i) many += fmt::format("a{}=0, ", i);
  const auto listed_by = [&](std::string_view name) {
    return edited(
        {{"    %mul:",
          fmt::format("    %{}: f32[2] = my.op.default({}self=%x)\n    %mul:", name, many)}});
  };
  EXPECT_FALSE(diff_programs(listed_by("a"), listed_by("b")).empty());
}

TEST(Diff, LongTypesStayDifferent) {
  const auto make = [](std::string_view last) {
    std::string sizes = "f32[";
    for (int i = 0; i < 1'000; ++i) sizes += "1, ";
    return edited({{"%x: f32[2, 8]", "%x: " + sizes + std::string(last) + "]"}});
  };
  EXPECT_EQ(hash_program(make("2")), hash_program(make("2")));
  EXPECT_NE(hash_program(make("2")), hash_program(make("3")));
  EXPECT_EQ(diff_programs(make("2"), make("3")).changes.size(), 1u);
}

TEST(Hash, DependsOnWhatIsComputedAlone) {
  const std::string hash = hash_program(edited({}));
  EXPECT_EQ(hash_program(edited({{"%relu", "%r"}, {"2.15.0", "2.12.1"}})), hash);
  EXPECT_NE(hash_program(edited({{"other=1)", "other=1.0)"}})), hash);
  EXPECT_NE(hash_program(edited({{"self=%relu, other=%linear", "self=%linear, other=%relu"}})),
            hash);
  EXPECT_NE(hash_program(edited({{"fc.weight", "fd.weight"}})), hash);
  EXPECT_NE(hash_program(edited({{"return %mul", "return %relu"}})), hash);
}

TEST(Hash, ABufferMayHaveTheNameOfAnInput) {
  const auto make = [](std::string_view input) {
    return edited({{"%x", input},
                   {"%p_w: f32[3, 8] requires_grad = parameter \"fc.weight\"",
                    "%p_w: f32[3, 8] = buffer \"x\""},
                   {"return %mul", "return %linear -> buffer_mutation \"x\", %mul"}});
  };
  EXPECT_EQ(hash_program(make("%x")), hash_program(make("%renamed")));
}

// Several releases exported the same module. Most of them trace the same operators.
TEST(Hash, IsTheSameForEveryRelease) {
  std::map<std::string, std::map<std::string, size_t>> cases;
  for (const auto& each : fs::recursive_directory_iterator(fs::path(PT2_TEST_DATA) / "corpus")) {
    if (each.path().extension() != ".pt2") continue;
    auto package = Package::open(each.path().string());
    ASSERT_TRUE(package.has_value());
    if (package->models().size() != 1) continue;
    ++cases[each.path().stem().string()][hash_program(*package->program().value())];
  }
  size_t several = 0, files = 0, alike = 0;
  for (const auto& [name, hashes] : cases) {
    size_t count = 0, most = 0;
    for (const auto& [hash, number] : hashes) {
      count += number;
      most = std::max(most, number);
    }
    if (count < 2) continue;
    ++several;
    files += count;
    alike += most;
  }
  EXPECT_GT(several, 20u);
  EXPECT_GT(alike * 10, files * 7) << alike << " of " << files << " files";
}

TEST(Stats, CountsProducts) {
  const ProgramStats found = stats(edited({}));
  EXPECT_EQ(found.parameters.elements, 24u);
  EXPECT_EQ(found.parameters.bytes, 96u);
  EXPECT_EQ(found.multiply_adds, 48u);  // 2 rows, 3 columns, 8 multiply-adds each
  EXPECT_EQ(found.nodes, 4u);
  EXPECT_EQ(found.peak_bytes, 72u);  // the result of linear and two more tensors at a time
  EXPECT_EQ(found.operators.front().target, "aten.linear.default");
  EXPECT_FALSE(found.assumed_sizes);
}

TEST(Stats, CountsTheProductsOfComposedOperators) {
  const std::string_view linear = "aten.linear.default(input=%x, weight=%p_w)";
  const auto products = [&](std::string_view call) {
    return stats(edited({{linear, call}})).multiply_adds;
  };
  EXPECT_EQ(products("aten.einsum.default(equation=\"bi,oi->bo\", tensors=[%x, %p_w])"), 48u);
  EXPECT_EQ(products("aten.inner.default(self=%x, other=%p_w)"), 48u);
  const ProgramStats found =
      stats(edited({{"opset aten 10", "opset aten 10\n  symbol s0 = 2 (positive, integer)"},
                    {"[2, ", "[s0, "},
                    {linear, "aten.inner.default(self=%x, other=%p_w)"}}));
  EXPECT_EQ(found.multiply_adds, 48u);
  EXPECT_TRUE(found.assumed_sizes);
}

}  // namespace
}  // namespace pt2
