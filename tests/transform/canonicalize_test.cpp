// Compares canonical forms with PyTorch's own (<name>.canon.json beside a program), and checks that
// the form does not depend on the order of the nodes.
#include "pt2/ir/canonicalize.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "package/corpus.h"
#include "pt2/format/schema_json.h"
#include "pt2/package.h"
#include "read_file.h"
#include "serde/to_schema.h"

namespace pt2 {
namespace {

std::string encoded(const Program& program) { return schema::encode_program(to_schema(program)); }

TEST(Canonicalize, IsThatOfPyTorch) {
  size_t count = 0;
  for (const corpus::File& file : corpus::files()) {
    const std::string path = file.path.substr(0, file.path.size() - 4) + ".canon.json";
    if (!std::filesystem::exists(path)) continue;
    SCOPED_TRACE(file.path);
    const auto package = Package::open(file.path);
    ASSERT_TRUE(package) << package.error().text();
    const auto canonical = canonicalize(**package->program());
    ASSERT_TRUE(canonical) << canonical.error().text();
    const std::string expected = test::read_file(path);
    Diagnostics warnings;
    const auto theirs = schema::decode_program(expected, {}, warnings);
    ASSERT_TRUE(theirs) << theirs.error().text();
    for (const auto& difference : schema::diff(*theirs, to_schema(*canonical)))
      ADD_FAILURE() << difference.path << ": " << difference.left << " -> " << difference.right;
    EXPECT_TRUE(encoded(*canonical) == expected);
    ++count;
  }
  std::printf("%zu canonical forms\n", count);
  EXPECT_GT(count, 20u);
}

TEST(Canonicalize, IsIdempotent) {
  for (const corpus::File& file : corpus::files()) {
    SCOPED_TRACE(file.path);
    const auto package = Package::open(file.path);
    ASSERT_TRUE(package) << package.error().text();
    for (const std::string& model : package->models()) {
      for (TieBreak ties : {TieBreak::position, TieBreak::content}) {
        const auto once = canonicalize(**package->program(model), ties);
        ASSERT_TRUE(once) << once.error().text();
        const auto twice = canonicalize(*once, ties);
        ASSERT_TRUE(twice) << twice.error().text();
        EXPECT_TRUE(encoded(*once) == encoded(*twice));
      }
    }
  }
}

// Returns the same graph with its nodes in another topological order.
Program with_shuffled_nodes(const Program& program, std::mt19937& random) {
  Program out = program;
  std::vector<NodeId> ready, order;
  std::vector<size_t> waits_for(program.graph.node_count());
  const Graph& graph = program.graph;
  const auto for_each_input = [&](NodeId id, auto visit) {
    for (const NamedArgument& input : graph.node(id).inputs)
      for_each_value(input.arg, [&](ValueId value) {
        if (graph.value(value).definition.by == Definition::By::node) visit(value);
      });
  };
  for (NodeId id : graph.nodes()) {
    for_each_input(id, [&](ValueId) { ++waits_for[static_cast<size_t>(id)]; });
    if (waits_for[static_cast<size_t>(id)] == 0) ready.push_back(id);
  }
  while (!ready.empty()) {
    std::swap(ready[random() % ready.size()], ready.back());
    const NodeId id = ready.back();
    ready.pop_back();
    out.graph.move_node(id, std::nullopt);
    for (const Argument& output : graph.node(id).outputs)
      for_each_value(output, [&](ValueId value) {
        for (const Use use : graph.uses(value))
          if (use.node && --waits_for[static_cast<size_t>(*use.node)] == 0)
            ready.push_back(*use.node);
      });
  }
  return out;
}

TEST(Canonicalize, ForgetsTheOrderOfNodes) {
  std::mt19937 random(7);
  size_t shuffled = 0;
  for (const corpus::File& file : corpus::files()) {
    SCOPED_TRACE(file.path);
    const auto package = Package::open(file.path);
    ASSERT_TRUE(package) << package.error().text();
    for (const std::string& model : package->models()) {
      const Program& program = **package->program(model);
      const Program other = with_shuffled_nodes(program, random);
      shuffled += !std::ranges::equal(program.graph.nodes(), other.graph.nodes());
      EXPECT_TRUE(encoded(canonicalize(program, TieBreak::content).value()) ==
                  encoded(canonicalize(other, TieBreak::content).value()));
    }
  }
  EXPECT_GT(shuffled, 30u);
}

}  // namespace
}  // namespace pt2
