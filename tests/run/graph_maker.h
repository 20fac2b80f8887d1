// Builds small graphs and executes them.
#ifndef PT2_TESTS_RUN_GRAPH_MAKER_H
#define PT2_TESTS_RUN_GRAPH_MAKER_H

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "run/reference/executor.h"

namespace pt2::run {

class GraphMaker {
 public:
  ValueId tensor(const std::string& name) {
    return *graph.add_value({.name = name, .meta = TensorMeta{}, .definition = {}});
  }
  ValueId input(const std::string& name) {
    const ValueId id = tensor(name);
    graph.add_input(Argument(id));
    return id;
  }
  ValueId call(const std::string& target, std::vector<NamedArgument> inputs) {
    return calls(target, std::move(inputs), 1)[0];
  }
  // Adds a node with the given number of results.
  std::vector<ValueId> calls(const std::string& target, std::vector<NamedArgument> inputs,
                             size_t results) {
    std::vector<ValueId> ids;
    std::vector<Argument> outputs;
    for (size_t i = 0; i < results; ++i) {
      ids.push_back(tensor("v" + std::to_string(next_++)));
      outputs.emplace_back(ids.back());
    }
    graph.add_node({.target = target, .inputs = std::move(inputs), .outputs = std::move(outputs)});
    return ids;
  }
  void open_vmap() {
    calls("torch._functorch.predispatch._vmap_increment_nesting",
          {{"", Argument(int64_t{2}), {}}, {"", Argument(std::string("error")), {}}}, 0);
  }
  void close_vmap() { calls("torch._functorch.predispatch._vmap_decrement_nesting", {}, 0); }
  Graph graph;

 private:
  int next_ = 0;
};

inline NamedArgument named(const std::string& name, Argument argument) {
  return {name, std::move(argument), std::nullopt};
}

inline Tensor floats(Sizes sizes, std::vector<float> values) {
  return Tensor::from<float>(Dtype::float32, std::move(sizes), std::span<const float>(values));
}

// A vector.
inline Tensor floats(const std::vector<float>& values) {
  return floats({static_cast<int64_t>(values.size())}, values);
}

inline std::vector<float> elements(const Value& value) {
  const Tensor copy = value.get_if<Tensor>()->contiguous();
  return {copy.as<float>().begin(), copy.as<float>().end()};
}

inline Result<std::vector<Value>> execute(const Graph& graph, std::vector<Value> inputs) {
  PT2_TRY(auto bound, bind_graph(graph));
  ops::Context context;
  return Executor(context).run(*bound, std::move(inputs));
}

}  // namespace pt2::run

#endif  // PT2_TESTS_RUN_GRAPH_MAKER_H
