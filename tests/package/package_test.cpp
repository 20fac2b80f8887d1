#include "pt2/package.h"

#include <gtest/gtest.h>

#include <thread>

#include "package/corpus.h"

namespace pt2 {
namespace {

size_t count_nodes(const Graph& graph) {
  size_t count = graph.nodes().size();
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
      EXPECT_EQ(program->signature.input_specs.size(), program->graph.inputs().size());
      EXPECT_EQ(program->signature.output_specs.size(), program->graph.outputs().size());
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

std::string data(const std::string& path) { return std::string(PT2_TEST_DATA) + "/" + path; }

TEST(Package, ProgramsAreChosenByName) {
  const Package two = Package::open(data("corpus/2.15.0/package_two.pt2")).value();
  ASSERT_EQ(two.models().size(), 2u);
  EXPECT_EQ(two.program().value(), two.program("model").value());
  EXPECT_NE(two.program("second").value(), two.program("model").value());
  const auto unknown = two.program("third");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::argument);
  EXPECT_EQ(unknown.error().message,
            "no program is called 'third', the package holds: model, second");
}

TEST(Package, PayloadsAreReadOnceAndShared) {
  const Package package = Package::open(data("corpus/2.15.0/tied_weights.pt2")).value();
  std::vector<std::shared_ptr<const Payloads>> found(8);
  std::vector<std::thread> threads;
  for (auto& payloads : found) threads.emplace_back([&] { payloads = package.payloads().value(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& payloads : found) EXPECT_EQ(payloads, found[0]);
  const PayloadTensor* embedding = found[0]->find(PayloadKind::weight, "emb.weight");
  const PayloadTensor* head = found[0]->find(PayloadKind::weight, "head.weight");
  ASSERT_TRUE(embedding && head);
  EXPECT_EQ(embedding->tensor.storage(), head->tensor.storage());
  EXPECT_EQ(embedding->storage_group, head->storage_group);
  // PyTorch's own writer aligned the record, so the tensor borrows the bytes of the file.
  EXPECT_TRUE(embedding->tensor.storage()->is_read_only());
}

TEST(Package, TensorsOutliveThePackage) {
  Tensor weight;
  {
    const Package package = Package::open(data("corpus/2.15.0/mlp.pt2")).value();
    weight = package.payloads().value()->find(PayloadKind::weight, "fc1.weight")->tensor;
  }
  EXPECT_EQ(weight.as<float>().size(), static_cast<size_t>(weight.numel()));
}

TEST(Package, FailuresNameTheFileTheRecordAndThePlace) {
  const auto broken = Package::open(data("negative/graph_undefined_value.pt2"));
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, ErrorCode::invalid);
  EXPECT_TRUE(broken.error().where.ends_with(
      "graph_undefined_value.pt2!models/model.json:.graph_module.graph.nodes[1].inputs[0].arg"))
      << broken.error().where;
  const Package hostile = Package::open(data("negative/pickle_weight.pt2")).value();
  const auto payloads = hostile.payloads();
  ASSERT_FALSE(payloads);
  EXPECT_EQ(payloads.error().code, ErrorCode::unsupported);
  EXPECT_NE(payloads.error().message.find("os.system"), std::string::npos);
}

TEST(Package, HostileSampleInputsAreNoObstacle) {
  const Package package = Package::open(data("negative/pickle_sample_inputs.pt2")).value();
  Diagnostics warnings;
  (void)package.sample_inputs(warnings).has_value();
  ASSERT_FALSE(warnings.empty());
  EXPECT_EQ(warnings.all()[0].rule, Rule::code_in_pickle);
  EXPECT_TRUE(package.payloads());
}

}  // namespace
}  // namespace pt2
