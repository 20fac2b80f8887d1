// The recorded dtypes and sizes of one node, and its recorded numbers, against its operator's shape
// rule.
#ifndef PT2_CHECK_SHAPES_SHAPE_CHECK_H
#define PT2_CHECK_SHAPES_SHAPE_CHECK_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check/shapes/abstract_value.h"
#include "ops/table.h"
#include "pt2/diagnostics.h"
#include "pt2/ir/graph.h"

namespace pt2::check {

struct ShapeFault {
  Rule rule;
  std::optional<size_t> output;  // nothing: the call as a whole
  std::string text;
};

// What one choice of symbols says of a node's results.
struct ShapeVerdict {
  // The operator refuses such operands (Rule::operands), or the first result that differs.
  std::optional<ShapeFault> fault{};
  size_t compared = 0;  // results that were computed and are recorded
  size_t unknown = 0;   // results that nobody can compare, and why not the first of them
  std::string_view reason{};

  bool is_refused() const { return fault && fault->rule == Rule::operands; }
};

class ShapeCheck {
 public:
  // All three must outlive the check.
  ShapeCheck(const Graph& graph, const Node& node, const ops::Operator& op)
      : graph_(graph), node_(node), op_(op), signature_(op.signature()) {}

  // Linear in the sizes of the values; no tensor is allocated.
  ShapeVerdict judge(const SymbolBindings& bindings);
  // What the operator gives for the operands, whatever is recorded of its results: tensors without
  // elements. Error `unsupported` where that is not known; else the operator's own.
  Result<std::vector<Value>> infer(const Abstraction& abstraction);
  // Those that its operands are made of.
  std::vector<SymbolId> symbols() const;
  // How much there is to evaluate in a judgement: a small number unless its values' sizes are long
  // expressions.
  size_t weight() const;
  // Whether other symbols can make another verdict.
  bool has_symbols() const;
  // Of an assertion: what it asserts; no expression otherwise.
  Expr condition() const;
  // An operator without results is an assertion: what it refuses is no fault of the program.
  bool is_assertion() const { return signature_.return_count == 0; }
  const std::string& target() const { return node_.target; }

 private:
  bool has_rule() const;
  bool bind(const Abstraction& abstraction);
  Result<std::vector<Value>> results() const;
  Result<std::vector<Value>> compute() const;
  size_t recorded_values() const;
  void compare_output(size_t index, const Value& computed, const SymbolBindings& bindings,
                      ShapeVerdict& verdict) const;
  void compare(size_t index, ValueId id, const Value& computed, const SymbolBindings& bindings,
               ShapeVerdict& verdict) const;
  bool is_made_here(const SymInt& size) const;
  bool agree(const GraphValue& value, const Sizes& recorded, const Sizes& computed) const;
  std::optional<ShapeFault> difference(size_t index, const GraphValue& value, const Value& recorded,
                                       const Value& computed) const;

  const Graph& graph_;
  const Node& node_;
  const ops::Operator& op_;
  const ops::Signature& signature_;
  std::vector<Value> arguments_;
};

}  // namespace pt2::check

#endif  // PT2_CHECK_SHAPES_SHAPE_CHECK_H
