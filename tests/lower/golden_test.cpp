// Runs passes on programs in text form. Each file tests/lower/golden/*.txt holds the pass, the
// program before it and, after "===", the program after it or the failures. PT2_REBASE=1 rewrites
// this part.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "lower/broken_rules.h"
#include "lower/pass.h"
#include "pt2/ir/program_text.h"
#include "read_file.h"

namespace pt2 {
namespace {

struct Case {
  std::string name;
  std::string front;  // everything before the program
  std::string pass;
  std::string before;
  bool is_refused = false;
  std::string result;
};

std::string folder() { return std::string(PT2_TEST_DATA) + "/../lower/golden/"; }

Case read_case(const std::filesystem::path& path) {
  const std::string all = test::read_file(path);
  constexpr std::string_view kPass = "\npass ", kBefore = "\n=== before\n", kAfter = "\n=== ";
  const size_t pass = all.find(kPass), before = all.find(kBefore);
  const size_t program = before + kBefore.size(), after = all.find(kAfter, program);
  if (std::max({pass, before, after}) == all.npos) return {.name = path.stem()};
  const size_t result = all.find('\n', after + 1) + 1;
  Case out{.name = path.stem(),
           .front = all.substr(0, program),
           .pass = all.substr(pass + kPass.size(), before - pass - kPass.size()),
           .before = all.substr(program, after + 1 - program),
           .is_refused = all.compare(after, kAfter.size() + 8, "\n=== failures") == 0,
           .result = all.substr(result)};
  return out;
}

std::vector<Case> read_cases() {
  std::vector<Case> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder()))
    out.push_back(read_case(entry.path()));
  std::ranges::sort(out, {}, &Case::name);
  return out;
}

const PassInfo* find_pass(std::string_view name) {
  const auto found = std::ranges::find(passes(), name, &PassInfo::name);
  return found == passes().end() ? nullptr : &*found;
}

Program parsed(const std::string& text, const std::string& name) {
  std::vector<Error> errors;
  Result<Program> program = parse_program(text, name, errors);
  EXPECT_TRUE(program) << errors.front().text();
  return program ? *std::move(program) : Program{};
}

std::string line_of(const PassFailure& failure) {
  std::string out = failure.text;
  if (!failure.where.empty()) out += " at " + failure.where;
  if (failure.node) out += " at " + failure.node.text();
  return out + "\n";
}

// Returns the text after "===": the result of the pass.
std::string result_of(const Case& each, const PassInfo& info) {
  Program program = parsed(each.before, each.name);
  Pipeline pipeline;
  const PassResult result = run_pass(info.pass, program, pipeline);
  std::string lines;
  for (const PassFailure& failure : result.failures) lines += line_of(failure);
  EXPECT_EQ(each.is_refused, !lines.empty()) << lines;
  if (each.is_refused) return lines;
  EXPECT_TRUE(info.surety != Surety::always || has_form(program.graph, info.gives));
  const std::string after = print_program(program);
  EXPECT_EQ(result.changed, after != print_program(parsed(each.before, each.name)));
  const std::set<Rule> known = broken_rules(parsed(each.before, each.name));
  for (const Rule rule : broken_rules(parsed(after, each.name)))
    EXPECT_TRUE(known.contains(rule)) << rule_code(rule) << '\n' << after;
  return after;
}

TEST(Passes, DoWhatTheirCasesSay) {
  for (const Case& each : read_cases()) {
    SCOPED_TRACE(each.name);
    const PassInfo* info = find_pass(each.pass);
    ASSERT_NE(info, nullptr) << each.pass;
    EXPECT_TRUE(each.name.starts_with(each.pass + "_"));
    const std::string found = result_of(each, *info);
    if (std::getenv("PT2_REBASE") != nullptr)
      std::ofstream(folder() + each.name + ".txt")
          << each.front << each.before << "=== " << (each.is_refused ? "failures" : "after") << '\n'
          << found;
    else
      EXPECT_EQ(found, each.result);
  }
}

// A program that already has the form stays unchanged.
TEST(Passes, LeaveAloneWhatHasTheirForm) {
  for (const Case& each : read_cases()) {
    if (each.is_refused) continue;
    SCOPED_TRACE(each.name);
    Program program = parsed(each.result, each.name);
    Pipeline pipeline;
    const PassResult result = run_pass(find_pass(each.pass)->pass, program, pipeline);
    EXPECT_FALSE(result.changed);
    EXPECT_TRUE(result.failures.empty());
    EXPECT_EQ(print_program(program), each.result);
  }
}

TEST(Passes, HaveCasesEach) {
  std::map<std::string, int> done, refused;
  for (const Case& each : read_cases()) ++(each.is_refused ? refused : done)[each.pass];
  for (const PassInfo& info : passes()) {
    SCOPED_TRACE(info.name);
    EXPECT_GE(done[std::string(info.name)], 3);
    // drop_idle never fails: it removes the nodes that it knows to be idle and keeps all others.
    EXPECT_GE(refused[std::string(info.name)], info.surety == Surety::always ? 1 : 0);
  }
}

TEST(Passes, ShareOneBudget) {
  const auto cases = read_cases();
  const auto find = [&](std::string_view name) {
    const auto found = std::ranges::find(cases, name, &Case::name);
    return parsed(found->before, found->name);
  };
  Pipeline pipeline{.budget = NodeBudget(2)};
  Program derived = find("forward_derivatives_chain");
  const PassResult refused = run_pass(Pass::forward_derivatives, derived, pipeline);
  ASSERT_EQ(refused.failures.size(), 1u);
  EXPECT_EQ(refused.failures[0].code, ErrorCode::limit);
  EXPECT_NE(refused.failures[0].text.find("max_new_nodes"), std::string::npos);
  EXPECT_TRUE(pipeline.budget.is_spent());
  // Unrolled elements may take a fifth of the budget. Here they take eight nodes.
  for (const uint64_t most : {39u, 40u}) {
    Pipeline elements{.budget = NodeBudget(most)};
    Program unrolled = find("unvmap_elements");
    EXPECT_TRUE(run_pass(Pass::unvmap, unrolled, elements).failures.empty());
    EXPECT_EQ(print_program(unrolled).find("map_impl") != std::string::npos, most < 40);
    EXPECT_EQ(elements.budget.left(), most < 40 ? most : most - 8);
  }
  Program written = find("functionalize_views");
  EXPECT_FALSE(run_pass(Pass::functionalize, written, pipeline).failures.empty());
}

// A region of known size that exceeds the budget for unrolling is reported with that limit.
TEST(Passes, SayWhichLimitKeepsAVmapRegion) {
  std::string text =
      "program schema 8.20 {\n  torch \"2.15.0\"\n  dialect \"TRAINING\"\n"
      "  opset aten 10\n  graph(%x0: f32[3, 4]) {\n";
  constexpr int kRegions = 1002, kMaps = 1000;
  for (int i = 0; i < kRegions; ++i) {
    const std::string in = std::to_string(i), out = std::to_string(i + 1);
    text += "torch._functorch.predispatch._vmap_increment_nesting(3, \"error\")\n%e" + in +
            ": f32[4] = torch._functorch.predispatch._add_batch_dim(%x" + in + ", 0, 1)\n%x" + out +
            ": f32[3, 4] = torch._functorch.predispatch._remove_batch_dim(%e" + in +
            ", 1, 3, 0)\ntorch._functorch.predispatch._vmap_decrement_nesting()\n";
  }
  text += "return %x" + std::to_string(kRegions) + "\n}\n}\n";
  Program program = parsed(text, "regions");
  Pipeline pipeline{.budget = NodeBudget(1)};
  const PassResult result = run_pass(Pass::unvmap, program, pipeline);
  ASSERT_EQ(result.failures.size(), size_t{kRegions - kMaps});
  EXPECT_NE(result.failures[0].text.find("3 elements"), std::string::npos);
  EXPECT_NE(result.failures[0].text.find("max_new_nodes 1"), std::string::npos);
}

}  // namespace
}  // namespace pt2
