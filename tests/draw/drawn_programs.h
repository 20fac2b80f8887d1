// Programs to draw: deep, wide and hostile ones.
#ifndef PT2_TESTS_DRAW_DRAWN_PROGRAMS_H
#define PT2_TESTS_DRAW_DRAWN_PROGRAMS_H

#include <fmt/format.h>

#include <string>
#include <vector>

#include "pt2/ir/builder.h"

namespace pt2::test {

// Builds a program node by node. Each node is in a module.
class StackedProgram {
 public:
  StackedProgram() : weight_(builder_.parameter("w", builder_.tensor(Dtype::float32, {4, 4}))) {}

  ValueId input(std::string_view name) {
    return builder_.input(name, builder_.tensor(Dtype::float32, {2, 4}));
  }
  ValueId call(const std::string& name, std::vector<NamedArgument> inputs,
               const std::string& stack) {
    stacks_.push_back(stack);
    return builder_.call("torch.ops.aten." + name, std::move(inputs),
                         builder_.tensor(Dtype::float32, {2, 4}));
  }
  ValueId linear(ValueId x, const std::string& stack) {
    return call("linear.default", {arg("input", x), arg("weight", weight_)}, stack);
  }
  ValueId add(ValueId a, ValueId b, const std::string& stack) {
    return call("add.Tensor", {arg("self", a), arg("other", b)}, stack);
  }
  void output(ValueId value) { builder_.output(value); }

  Program finish() {
    Program program = std::move(builder_).finish().value();
    size_t i = 0;
    for (const NodeId id : program.graph.nodes())
      program.graph.set_node_metadata(id, {{"nn_module_stack", stacks_[i++]}});
    return program;
  }

 private:
  ProgramBuilder builder_;
  ValueId weight_;
  std::vector<std::string> stacks_;
};

// Returns one entry of nn_module_stack.
inline std::string entry(const std::string& path, const std::string& type) {
  return fmt::format("{},{},{}", path.empty() ? "L__self__" : "L__self___" + path, path, type);
}

// Returns a program of attention and feed-forward blocks, 24 nodes each, which share one mask.
inline Program make_decoder(size_t blocks) {
  StackedProgram made;
  ValueId x = made.input("x");
  const ValueId mask = made.input("mask");
  const std::string root = entry("", "model.Decoder");
  for (size_t i = 0; i < blocks; ++i) {
    const std::string path = fmt::format("layers.{}", i);
    const std::string block = root + ";" + entry(path, "model.Block");
    const std::string attention = block + ";" + entry(path + ".attention", "model.Attention");
    const ValueId q = made.linear(x, attention + ";" + entry(path + ".attention.q", "nn.Linear"));
    const ValueId k = made.linear(x, attention + ";" + entry(path + ".attention.k", "nn.Linear"));
    const ValueId v = made.linear(x, attention + ";" + entry(path + ".attention.v", "nn.Linear"));
    const auto chain = [&](ValueId from, size_t count, const std::string& stack) {
      constexpr const char* kOperators[] = {"relu.default", "tanh.default", "sigmoid.default"};
      for (size_t n = 0; n < count; ++n)
        from = made.call(kOperators[n % 3], {arg("self", from)}, stack);
      return from;
    };
    const ValueId scores = made.add(made.add(q, k, attention), mask, attention);
    const ValueId mixed = made.add(chain(scores, 4, attention), v, attention);
    x = made.add(x, mixed, block);
    const std::string mlp = block + ";" + entry(path + ".mlp", "model.Mlp");
    x = made.add(x, chain(made.linear(x, mlp), 11, mlp), block);
  }
  made.output(made.linear(x, root + ";" + entry("head", "nn.Linear")));
  return made.finish();
}

}  // namespace pt2::test

#endif  // PT2_TESTS_DRAW_DRAWN_PROGRAMS_H
