// Makes programs in C++, saves them as .pt2 files that PyTorch loads, and runs them.
//   build_programs [FOLDER]     writes the files there, or to a folder for temporary files
#include <filesystem>
#include <iostream>

#include "pt2/ir/builder.h"
#include "pt2/model.h"
#include "pt2/save.h"

namespace {

using pt2::arg, pt2::Dtype, pt2::Tensor, pt2::ValueId;
using Tensors = std::vector<pt2::SavedTensor>;

Tensor floats(pt2::Sizes sizes, const std::vector<float>& values) {
  return Tensor::from<float>(Dtype::float32, std::move(sizes), std::span(values));
}

pt2::SavedProgram saved(pt2::ProgramBuilder builder, Tensors state_dict) {
  const pt2::Program program = std::move(builder).finish().value();
  return {.json = pt2::program_json(program), .state_dict = std::move(state_dict)};
}

// relu(x @ W1.T + b1) @ W2.T, for a batch of 1 to 64.
pt2::SavedProgram perceptron() {
  pt2::ProgramBuilder builder;
  const pt2::SymInt batch = builder.dim("s0", {1, 64}, 3);
  const auto floats_of = [&](std::vector<pt2::SymInt> sizes) {
    return builder.tensor(Dtype::float32, std::move(sizes));
  };
  const ValueId x = builder.input("x", floats_of({batch, 2}));
  const ValueId hidden = builder.call(
      "torch.ops.aten.linear.default",
      {arg("input", x), arg("weight", builder.parameter("fc1.weight", floats_of({3, 2}))),
       arg("bias", builder.parameter("fc1.bias", floats_of({3})))},
      floats_of({batch, 3}));
  const ValueId active =
      builder.call("torch.ops.aten.relu.default", {arg("self", hidden)}, floats_of({batch, 3}));
  builder.output(builder.call(
      "torch.ops.aten.linear.default",
      {arg("input", active), arg("weight", builder.parameter("fc2.weight", floats_of({1, 3})))},
      floats_of({batch, 1})));
  const auto parameter = [](const char* name, Tensor tensor) {
    return pt2::SavedTensor{
        .name = name, .tensor = tensor, .is_parameter = true, .requires_grad = true};
  };
  return saved(std::move(builder), {parameter("fc1.weight", floats({3, 2}, {1, 0, 0, 1, 1, -1})),
                                    parameter("fc1.bias", floats({3}, {0, 0.5, -1})),
                                    parameter("fc2.weight", floats({1, 3}, {1, 2, 4}))});
}

// sin(x) if x has a positive sum, else cos(x).
pt2::SavedProgram conditional() {
  pt2::ProgramBuilder builder;
  const pt2::TensorMeta vector = builder.tensor(Dtype::float32, {3});
  const ValueId x = builder.input("x", vector);
  const ValueId sum = builder.call("torch.ops.aten.sum.default", {arg("self", x)},
                                   builder.tensor(Dtype::float32, {}));
  const ValueId positive =
      builder.call("torch.ops.aten.gt.Scalar", {arg("self", sum), arg("other", int64_t{0})},
                   builder.tensor(Dtype::bool_, {}));
  const auto branch = [&](const char* target) {
    pt2::GraphBuilder graph = builder.nested();
    const ValueId inner = graph.input("x", vector);
    graph.output(graph.call(target, {arg("self", inner)}, vector));
    return graph;
  };
  builder.output(builder.call_many(
      "torch.ops.higher_order.cond",
      {arg(positive), arg(builder.subgraph("true_graph_0", branch("torch.ops.aten.sin.default"))),
       arg(builder.subgraph("false_graph_0", branch("torch.ops.aten.cos.default"))),
       arg(pt2::tensors({x}))},
      {vector})[0]);
  return saved(std::move(builder), {});
}

// Adds every input to a running total.
pt2::SavedProgram accumulator() {
  pt2::ProgramBuilder builder;
  const pt2::TensorMeta vector = builder.tensor(Dtype::float32, {2});
  const ValueId total = builder.buffer("total", vector);
  const ValueId x = builder.input("x", vector);
  const ValueId next =
      builder.call("torch.ops.aten.add.Tensor", {arg("self", total), arg("other", x)}, vector);
  builder.mutate_buffer("total", next);
  builder.output(next);
  return saved(std::move(builder), {{.name = "total", .tensor = floats({2}, {10, 20})}});
}

void show(const char* what, pt2::Model& model, const Tensor& x) {
  const std::vector<pt2::Value> outputs = model.run({{"x", x}}).value();
  std::cout << what;
  for (float element : outputs[0].get_if<Tensor>()->contiguous().as<float>())
    std::cout << " " << element;
  std::cout << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path folder =
      argc > 1 ? std::filesystem::path(argv[1]) : std::filesystem::temp_directory_path();
  const auto save = [&](const char* name, pt2::SavedProgram program) {
    const std::string path = (folder / name).string();
    pt2::PackageContents contents;
    contents.programs.push_back(std::move(program));
    pt2::save_package(contents, path).value();
    return pt2::Model::load(path).value();
  };
  pt2::Model mlp = save("built_perceptron.pt2", perceptron());
  show("perceptron ", mlp, floats({3, 2}, {1, 2, 3, 0, 0, 0}));
  pt2::Model cond = save("built_conditional.pt2", conditional());
  show("conditional", cond, floats({3}, {0, 0, 0}));
  pt2::Model sum = save("built_accumulator.pt2", accumulator());
  show("accumulator", sum, floats({2}, {1, 2}));
  show("accumulator", sum, floats({2}, {1, 2}));
}
