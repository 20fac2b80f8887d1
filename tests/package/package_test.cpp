#include "pt2/package.h"

#include <gtest/gtest.h>

#include "package/corpus.h"

namespace pt2 {
namespace {

size_t count_nodes(const Graph& graph) {
  size_t count = graph.node_order().size();
  for (const Graph& subgraph : graph.subgraphs()) count += count_nodes(subgraph);
  return count;
}

TEST(Package, OpensEveryRealFile) {
  size_t programs = 0, nodes = 0, tensors = 0;
  for (const corpus::File& file : corpus::files()) {
    SCOPED_TRACE(file.path);
    const auto package = Package::open(file.path);
    if (!package) {
      ADD_FAILURE() << package.error().text();
      continue;
    }
    for (const Diagnostic& warning : package->warnings().all()) ADD_FAILURE() << warning.line();
    for (const std::string& model : package->models()) {
      const Program* program = package->program(model).value();
      EXPECT_EQ(program->signature.input_specs.size(), program->graph.inputs.size());
      EXPECT_EQ(program->signature.output_specs.size(), program->graph.outputs.size());
      EXPECT_EQ(user_input_names(*program).size(), program->signature.user_inputs().size());
      const auto payloads = package->payloads(model);
      if (!payloads) {
        ADD_FAILURE() << payloads.error().text();
        continue;
      }
      for (const InputSpec& spec : program->signature.input_specs) {
        const bool wants_tensor = spec.kind == InputKind::parameter ||
                                  spec.kind == InputKind::buffer ||
                                  spec.kind == InputKind::constant_tensor;
        EXPECT_EQ(wants_tensor, (*payloads)->bound_to(spec) != nullptr) << spec.target.value_or("");
      }
      ++programs;
      nodes += count_nodes(program->graph);
      tensors += (*payloads)->tensors().size();
    }
  }
  EXPECT_GT(programs, 100u);
  EXPECT_GT(nodes, 1000u);
  EXPECT_GT(tensors, 500u);
}

}  // namespace
}  // namespace pt2
