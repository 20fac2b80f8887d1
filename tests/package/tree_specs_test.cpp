#include <gtest/gtest.h>

#include <set>

#include "package/corpus.h"
#include "pt2/package.h"

namespace pt2 {
namespace {

void expect_same_bytes(const std::string& text, const Program& program, const std::string& place) {
  const auto spec = parse_tree_spec(text, program.namedtuple_fields);
  ASSERT_TRUE(spec) << place << ": " << spec.error().text();
  EXPECT_EQ(print_tree_spec(*spec), text) << place;
  EXPECT_EQ(leaf_paths(*spec, "x").size(), leaf_count(*spec)) << place;
}

TEST(TreeSpecs, OfEveryReleaseAreWrittenAsTheyWereRead) {
  std::set<std::string> releases;
  size_t specs = 0;
  for (const corpus::File& file : corpus::files()) {
    const auto package = Package::open(file.path);
    ASSERT_TRUE(package) << file.path << package.error().text();
    for (const std::string& model : package->models()) {
      const Program& program = *package->program(model).value();
      const std::string place = file.release + "/" + file.name + " " + model;
      for (const ModuleCallEntry& entry : program.module_call_graph) {
        if (!entry.signature) continue;
        expect_same_bytes(entry.signature->in_spec, program, place);
        expect_same_bytes(entry.signature->out_spec, program, place);
        specs += 2;
        releases.insert(file.release);
      }
      size_t leaves = 0;
      for (const CallArgument& argument : call_arguments(program))
        leaves += leaf_count(argument.spec);
      EXPECT_EQ(leaves, program.signature.user_inputs().size()) << place;
      EXPECT_EQ(leaf_count(result_spec(program)), program.signature.user_outputs().size()) << place;
    }
  }
  std::printf("%zu specs\n", specs);
  EXPECT_GE(releases.size(), 15u);
}

}  // namespace
}  // namespace pt2
