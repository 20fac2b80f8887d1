// Compares the shape rules with the metadata that PyTorch recorded for every node of real programs,
// for the exported example and for 20 other assignments of the symbols. PT2_PROGRAMS names a folder
// of more programs.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "check/shapes/program_shapes.h"
#include "package/corpus.h"
#include "pt2/package.h"

namespace pt2 {
namespace {

constexpr size_t kAssignments = 20;

std::vector<std::string> program_files() {
  std::vector<std::string> paths;
  for (const corpus::File& file : corpus::files()) paths.push_back(file.path);
  if (const char* more = std::getenv("PT2_PROGRAMS"))
    for (const auto& file : std::filesystem::directory_iterator(more))
      if (file.path().extension() == ".pt2") paths.push_back(file.path().string());
  return paths;
}

class Survey {
 public:
  void add(const std::string& path, const Program& program) {
    const std::vector<PlacedGraph> graphs = placed_graphs(program);
    check::ProgramShapes shapes(program, graphs);
    std::map<std::string_view, ops::Operator> operators;
    for (size_t g = 0; g < graphs.size(); ++g) {
      size_t position = 0;
      for (NodeId id : graphs[g].graph->nodes()) {
        const Node& node = graphs[g].graph->node(id);
        ops::Operator& op = operators.try_emplace(node.target).first->second;
        if (!op) op = ops::find_operator(node.target);
        if (op) shapes.add(g, position, node, op);
        ++position;
      }
    }
    const auto assignments = shapes.assignments(kAssignments);
    EXPECT_EQ(assignments.size(), kAssignments) << path;
    for (auto& entry : shapes.entries()) {
      const std::string place = path + "!" + graphs[entry.graph].node_place(entry.position);
      add_node(place, entry.check, shapes.hints(), assignments);
    }
  }

  void print() const {
    std::printf("%zu nodes, %zu values, %zu of them under %zu assignments\n", nodes_, values_,
                symbolic_, kAssignments);
    for (const auto& [what, count] : skipped_)
      std::printf("%6zu not compared: %s\n", count, what.c_str());
  }
  size_t values() const { return values_; }

 private:
  void add_node(const std::string& place, check::ShapeCheck& check, const SymbolBindings& hints,
                const std::vector<SymbolBindings>& assignments) {
    ++nodes_;
    check::ShapeVerdict verdict = judge(place, check, hints);
    if (check.has_symbols()) {
      for (const SymbolBindings& bindings : assignments) {
        const check::ShapeVerdict other = judge(place, check, bindings);
        // A symbol without a hint is a data-dependent size.
        if (other.compared > verdict.compared) verdict = other;
      }
      symbolic_ += verdict.compared;
    }
    values_ += verdict.compared;
    if (verdict.unknown > 0)
      skipped_[check.target() + ": " + std::string(verdict.reason)] += verdict.unknown;
  }

  static check::ShapeVerdict judge(const std::string& place, check::ShapeCheck& check,
                                   const SymbolBindings& bindings) {
    const check::ShapeVerdict verdict = check.judge(bindings);
    if (verdict.fault && !check.is_assertion())
      ADD_FAILURE() << place << " (" << check.target() << "): " << verdict.fault->text;
    return verdict;
  }

  size_t nodes_ = 0, values_ = 0, symbolic_ = 0;
  std::map<std::string, size_t> skipped_;
};

TEST(ShapeSurvey, RulesAgreeWithEveryRecord) {
  Survey survey;
  for (const std::string& path : program_files()) {
    auto package = Package::open(path);
    ASSERT_TRUE(package) << path;
    for (const std::string& name : package->models())
      if (auto program = package->program(name)) survey.add(path, **program);
  }
  survey.print();
  EXPECT_GT(survey.values(), 1000u);
}

}  // namespace
}  // namespace pt2
