// Compares the recorded dtypes, sizes and numbers of one node with its operator's shape rule.
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
  std::optional<size_t> output;  // nothing: the fault concerns the call as a whole
  std::string text;
};

// True if an output is recorded as what an operator gives of this type: a tensor, a number, a list.
bool fits_result(const Graph& graph, const Argument& output, const ops::ArgumentType& type);

// The verdict on a node's results under one assignment of the symbols.
struct ShapeVerdict {
  // Rule::operands if the operator refuses the operands, else the first result that differs.
  std::optional<ShapeFault> fault{};
  size_t compared = 0;  // results that were computed and are recorded
  size_t unknown = 0;   // results that cannot be compared; `reason` tells why
  std::string_view reason{};
  bool depends_on_data = false;  // the operands are known, but only their elements tell the results

  bool is_refused() const { return fault && fault->rule == Rule::operands; }
};

// Which records agree with what an operator gives.
enum class Agreement : uint8_t {
  as_exported,  // also those that torch.export is known to write instead
  as_computed,  // of values that are used, only the operator's results
};

class ShapeCheck {
 public:
  // All three must outlive the check.
  ShapeCheck(const Graph& graph, const Node& node, const ops::Operator& op,
             Agreement agreement = Agreement::as_exported)
      : graph_(graph), node_(node), op_(op), signature_(op.signature()), agreement_(agreement) {}

  // Linear in the sizes of the values; no tensor is allocated. Callers that judge many nodes under
  // the same bindings pass one `record` to all (by_record).
  ShapeVerdict judge(const Abstraction& record);
  ShapeVerdict judge(const SymbolBindings& bindings) { return judge(by_record(bindings)); }
  // Returns the operator's results for the operands as tensors without elements, whatever the file
  // records of the results. Error `unsupported` if they are not known; else the operator's own
  // error.
  Result<std::vector<Value>> infer(const Abstraction& abstraction);
  // Returns the symbols of the operands.
  std::vector<SymbolId> symbols() const;
  // Returns the cost of one judgement: a small number unless the values' sizes are long
  // expressions.
  size_t weight() const;
  // True if other values of the symbols can change the verdict.
  bool has_symbols() const;
  // Returns the condition that an assertion asserts; an empty expression for other nodes.
  Expr condition() const;
  // An operator without results is an assertion: its refusal is no fault of the program.
  bool is_assertion() const { return signature_.return_count == 0; }
  const std::string& target() const { return node_.target; }

 private:
  bool has_rule() const;
  bool bind(const Abstraction& abstraction);
  Result<std::vector<Value>> results() const;
  Result<std::vector<Value>> compute() const;
  void compare_output(size_t index, const Value& computed, const Abstraction& record,
                      ShapeVerdict& verdict) const;
  void compare(size_t index, ValueId id, const Value& computed, const Abstraction& record,
               ShapeVerdict& verdict) const;
  bool takes_unknown() const;
  bool is_made_here(const SymInt& size) const;
  bool agree(const GraphValue& value, const Sizes& recorded, const Sizes& computed) const;
  bool may_differ(ValueId id) const;
  bool may_record(size_t index, ValueId id, const Sizes& recorded, const Sizes& computed) const;
  std::optional<ShapeFault> wrong_constant(size_t index, ValueId id, const Value& computed) const;
  std::optional<ShapeFault> difference(size_t index, ValueId id, const Value& recorded,
                                       const Value& computed) const;

  const Graph& graph_;
  const Node& node_;
  const ops::Operator& op_;
  const ops::Signature& signature_;
  const Agreement agreement_;
  std::vector<Value> arguments_;
};

}  // namespace pt2::check

#endif  // PT2_CHECK_SHAPES_SHAPE_CHECK_H
