// Replaces one node by the calls of its operator's formula.
#ifndef PT2_LOWER_DECOMPOSE_REWRITER_H
#define PT2_LOWER_DECOMPOSE_REWRITER_H

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/hash/text_hash.h"
#include "lower/decompose/numbers.h"
#include "lower/decompose/other_strides.h"
#include "lower/decompose/recorder.h"
#include "lower/new_nodes.h"
#include "lower/node_budget.h"
#include "lower/written_memory.h"
#include "pt2/dtype.h"
#include "pt2/ir/graph.h"

namespace pt2 {

// The state of a graph while its nodes are replaced in order.
struct GraphState {
  // The graph values of the numbers that earlier nodes compute, by expression.
  std::map<const ExprNode*, ValueId> numbers{};
  std::optional<NodeNames> node_names{};  // from the first that is needed on
  OtherStrides other_strides{};
  bool is_nested = false;
  std::optional<WrittenMemory> written{};  // of the graph, from the first question about it on
};

// The strides of operands that a formula sees.
enum class Lying : uint8_t {
  as_recorded,
  as_computed,  // the strides that kernels give, where they are known to differ
  apart,        // for these tensors, strides with gaps between all dimensions
};

class NodeRewriter {
 public:
  // The formula is traced under each of `choices`, which assign values to the program's symbols.
  // All traces must make the same calls. Every number in the traces must be an expression of the
  // numbers that the node receives. In a `region` of torch.autocast its casts become calls, and
  // the results may have other dtypes than the file records.
  NodeRewriter(Graph& graph, NodeId id, const ops::Operator& op, NodeBudget& budget,
               const NumberWriter& writer, GraphState& state,
               std::optional<Dtype> region = std::nullopt)
      : graph_(graph),
        id_(id),
        node_(graph.node(id)),
        op_(op),
        budget_(budget),
        writer_(writer),
        state_(state),
        region_(region),
        first_new_value_(graph.value_count()) {}

  // On failure the graph is unchanged.
  Result<void> run(std::span<const SymbolBindings> choices, const Recorder::Expands& expands);

 private:
  struct Trace {
    const SymbolBindings* choice = nullptr;
    std::vector<Value> arguments{};
    std::vector<Value> results{};
    std::vector<FormulaCall> calls{};
    bool depends_on_elements = false;
  };
  // The same value in all traces.
  using Parallel = std::vector<const Value*>;
  struct Source {
    ValueId value;
    std::optional<int64_t> dim;  // set if the number is a size of a tensor: its dimension
  };

  Result<void> follow(std::span<const SymbolBindings> choices, const Recorder::Expands& expands);
  Result<void> trace(std::span<const SymbolBindings> choices, const Recorder::Expands& expands);
  bool makes_equal_calls() const;
  bool touches_written_memory() const;
  std::optional<std::vector<Value>> operands_of(const SymbolBindings& choice) const;
  Result<Trace> follow(const SymbolBindings& choice, const std::vector<Value>& operands,
                       const Recorder::Expands& expands) const;
  Result<Trace> follow(const SymbolBindings& choice, const std::vector<Value>& operands,
                       const Recorder::Expands& expands, std::optional<int64_t> data_size) const;
  void lay(Tensor& tensor, const Argument& argument, const SymbolBindings& choice) const;
  Result<void> choose_lying(const SymbolBindings& hints, const Recorder::Expands& expands);
  std::vector<int64_t> data_sizes(const SymbolBindings& choice) const;
  bool gives_recorded_sizes(const Trace& trace) const;
  void learn(const Argument& argument, const Value& value);
  void learn_number(const SymInt& number, std::optional<Source> source);
  void learn_sizes(ValueId id, bool is_argument);
  void learn_strides(ValueId id);
  std::vector<bool> needed_calls() const;

  Result<void> write_calls();
  Result<void> write_call(size_t index);
  Result<Argument> argument_of(const ops::ArgumentType& type, const Parallel& values);
  Result<Argument> list_of(const ops::ArgumentType& type, const Parallel& values);
  Result<Argument> number_of(const Samples& samples);
  Result<ValueId> known_value(size_t index);
  Result<ValueId> arithmetic(std::string_view name, ExprOp op, ValueId left, const Argument& right);
  Result<Argument> new_value(std::string_view name, const Parallel& values);
  Result<TensorMeta> meta_of(const Parallel& values) const;
  Result<SymInt> size_of(const Samples& samples) const;
  Result<void> insert_node(Node node);
  Result<void> check_results() const;
  void replace_results();
  void replace_result(ValueId result, TermNumber term);
  void undo();

  Graph& graph_;
  const NodeId id_;
  const Node node_;
  const ops::Operator& op_;
  NodeBudget& budget_;
  const NumberWriter& writer_;
  GraphState& state_;
  const std::optional<Dtype> region_;
  const size_t first_new_value_;

  Lying lying_ = Lying::as_recorded;
  bool strides_vary_ = false;  // see Emitter::strides_vary
  std::vector<Trace> traces_;
  KnownNumbers known_;
  std::vector<std::optional<Source>> sources_;  // the source of each known number, if any
  std::map<TermNumber, ValueId> values_;
  std::map<TermNumber, NodeId> makers_;  // the new node that computes each term
  std::vector<NodeId> inserted_;
  std::vector<const ExprNode*> new_numbers_;
};

}  // namespace pt2

#endif  // PT2_LOWER_DECOMPOSE_REWRITER_H
