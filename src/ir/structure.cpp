#include "ir/structure.h"

#include <fmt/format.h>

namespace pt2 {
namespace {

class StructureCheck {
 public:
  StructureCheck(const Graph& graph, std::string place, Diagnostics& findings)
      : graph_(graph),
        place_(std::move(place)),
        findings_(findings),
        defined_(graph.value_count()) {}

  void run() {
    for (size_t i = 0; i < graph_.inputs().size(); ++i)
      define(graph_.inputs()[i], [&] { return fmt::format("{}.inputs[{}]", place_, i); });
    size_t position = 0;
    for (NodeId id : graph_.nodes()) check_node(graph_.node(id), position++);
    for (size_t i = 0; i < graph_.outputs().size(); ++i)
      use(graph_.outputs()[i], [&] { return fmt::format("{}.outputs[{}]", place_, i); });
  }

 private:
  void check_node(const Node& node, size_t position) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Argument& argument = node.inputs[i].arg;
      const auto place = [&] {
        return fmt::format("{}.nodes[{}].inputs[{}].arg", place_, position, i);
      };
      use(argument, place);
      for_each_subgraph(argument, [&](SubgraphId id) {
        StructureCheck(graph_.subgraph(id), place() + ".as_graph.graph", findings_).run();
      });
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      define(node.outputs[i],
             [&] { return fmt::format("{}.nodes[{}].outputs[{}]", place_, position, i); });
    }
  }

  template <class Place>
  void define(const Argument& argument, Place place) {
    for_each_value(argument, [&](ValueId id) {
      auto defined = defined_[static_cast<size_t>(id)];
      if (defined) {
        findings_.add(Rule::defined_twice, place(),
                      fmt::format("'{}' is defined twice", graph_.value(id).name));
      }
      defined = true;
    });
  }

  template <class Place>
  void use(const Argument& argument, Place place) {
    for_each_value(argument, [&](ValueId id) {
      if (defined_[static_cast<size_t>(id)]) return;
      const GraphValue& value = graph_.value(id);
      if (value.definition.by == Definition::By::nothing) {
        findings_.add(Rule::undefined_value, place(),
                      fmt::format("nothing defines a value called '{}'", value.name));
      } else {
        findings_.add(Rule::use_before_definition, place(),
                      fmt::format("'{}' is used before it is defined", value.name));
      }
    });
  }

  const Graph& graph_;
  std::string place_;
  Diagnostics& findings_;
  std::vector<bool> defined_;
};

}  // namespace

void check_structure(const Program& program, Diagnostics& findings) {
  StructureCheck(program.graph, ".graph_module.graph", findings).run();
}

}  // namespace pt2
