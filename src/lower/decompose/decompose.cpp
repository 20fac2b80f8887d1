#include "lower/decompose/decompose.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "base/hash/text_hash.h"
#include "check/shapes/program_shapes.h"
#include "check/shapes/symbol_samples.h"
#include "ir/graph_place.h"
#include "ir/target.h"
#include "ir/version_facts.h"
#include "ir/walk.h"
#include "lower/decompose/rewriter.h"
#include "lower/functional/functionalize.h"
#include "ops/bind.h"
#include "pt2/ir/decompose.h"
#include "pt2/ir/edit.h"

namespace pt2 {
namespace {

using ops::Operator;

// A wrong expression may fit one assignment of the symbols, but rarely several.
constexpr size_t kChoices = 4;

// Returns the target of the operator that this one is an alias of; empty if it is not an alias.
std::string other_name(const Operator& op, std::string_view target) {
  const bool in_place = op.form == Operator::Form::in_place;
  if (target_namespace(target) != "aten" || (!in_place && op.form != Operator::Form::as_written))
    return {};
  std::string name = written_target(op);
  if (const std::string_view other = op.def->facts.same_as; !other.empty()) {
    name = std::string(kAten) + std::string(other);
    if (in_place) name.insert(name.rfind('.'), "_");
  }
  return name == target ? std::string() : name;
}

bool is_composite(const Operator& op, std::string_view target) {
  return op && op.form != Operator::Form::copy &&
         (op.def->facts.undecomposed != ops::Undecomposed::no || op.def->formula != nullptr ||
          !other_name(op, target).empty());
}

std::string_view why_undecomposed(ops::Undecomposed reason) {
  switch (reason) {
    case ops::Undecomposed::gives_numbers:
      return "its result is a number, not a tensor";
    case ops::Undecomposed::reads_elements:
      return "which operators it is made of depends on elements";
    case ops::Undecomposed::no:
    case ops::Undecomposed::lacks_steps:
      break;
  }
  return "this version has no formula for it";
}

class Decomposer {
 public:
  Decomposer(const OperatorSet& set, Program& program, Pipeline& pipeline)
      : set_(set),
        program_(program),
        pipeline_(pipeline),
        writer_(*program.expressions, pipeline.spelling),
        expands_([this](const Operator& op) { return !set_.has(written_target(op), op); }),
        choices_(symbol_choices(program)) {}

  PassResult run() {
    visit(program_.graph);
    return std::move(result_);
  }

 private:
  const Operator& find(const std::string& target) {
    auto [entry, is_new] = operators_.try_emplace(target);
    if (is_new) entry->second = ops::find_operator(target);
    return entry->second;
  }

  void visit(Graph& graph) {
    GraphState state{.is_nested = &graph != &program_.graph};
    for (const Argument& input : graph.inputs()) learn(graph, input, state);
    const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
    for (const NodeId id : nodes) {
      const Node& node = graph.node(id);
      for_each_callee(node, [&](SubgraphId nested) { visit(graph.subgraph(nested)); });
      const Operator& op = find(node.target);
      if (op) learn_other_strides(graph, node, op, choices_.front(), state.other_strides);
      if (op && !set_.has(node.target, op)) {
        auto done = rewrite(graph, id, op, state);
        if (done) {
          result_.changed = true;
          continue;
        }
        Error error = std::move(done).error();
        result_.failures.push_back({.node = describe_node(graph, graph.node(id)),
                                    .text = std::move(error.message),
                                    .code = error.code});
      }
      for (const Argument& output : graph.node(id).outputs) learn(graph, output, state);
    }
  }

  static void learn(const Graph& graph, const Argument& argument, GraphState& state) {
    for_each_value(argument, [&](ValueId id) {
      const auto* number = std::get_if<SymInt>(&graph.value(id).meta);
      if (number != nullptr && number->is_symbolic())
        state.numbers.emplace(number->expr().operator->(), id);
    });
  }

  Result<void> rewrite(Graph& graph, NodeId id, const Operator& op, GraphState& state) {
    const auto refuse = [](std::string text) { return Error{ErrorCode::unsupported, text}; };
    if (std::string name = other_name(op, graph.node(id).target); !name.empty()) {
      rename(graph, id, op, std::move(name));
      const Operator& renamed = find(graph.node(id).target);
      return set_.has(graph.node(id).target, renamed) ? Result<void>()
                                                      : rewrite(graph, id, renamed, state);
    }
    // A query whose answer is unused: torch.export keeps such nodes, PyTorch's decompositions do
    // not.
    if (op.def->facts.undecomposed == ops::Undecomposed::gives_numbers &&
        result_count(graph.node(id)) == 0)
      return graph.erase_node(id);
    if (op.def->formula == nullptr ||
        (op.form != Operator::Form::as_written && op.form != Operator::Form::in_place))
      return refuse(std::string(why_undecomposed(op.def->facts.undecomposed)));
    return rewrite_node({graph, id, op, state}, pipeline_.budget, writer_, choices_, expands_);
  }

  void rename(Graph& graph, NodeId id, const Operator& op, std::string target) {
    const ops::Signature& signature = find(target).signature();
    std::vector<NamedArgument> inputs = graph.node(id).inputs;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (const auto index = ops::parameter_index(op.signature(), inputs[i].name, i);
          index && *index < signature.parameter_count)
        inputs[i].name = signature.parameter_array[*index].name;
    graph.set_node_target(id, std::move(target));
    graph.set_node_inputs(id, std::move(inputs));
  }

  const OperatorSet& set_;
  Program& program_;
  Pipeline& pipeline_;
  const NumberWriter writer_;
  const Recorder::Expands expands_;
  TextMap<std::string, Operator> operators_;
  const std::vector<SymbolBindings> choices_;
  PassResult result_;
};

}  // namespace

bool OperatorSet::has(std::string_view target, const ops::Operator& op) const {
  if (!all_but.empty()) return !all_but.contains(target);
  if (targets.contains(target)) return true;
  return core ? !is_composite(op, target) : target_namespace(target) != "aten";
}

Result<OperatorSet> operator_set(std::span<const std::string> names) {
  OperatorSet set{.core = false};
  for (const std::string& name : names) {
    if (name == "core") {
      set.core = true;
      continue;
    }
    const std::string candidates[] = {name, std::string(kOps) + name,
                                      std::string(kOps) + name + ".default"};
    const auto found = std::ranges::find_if(
        candidates, [](const std::string& each) { return bool(ops::find_operator(each)); });
    if (found == std::end(candidates))
      return Error{
          ErrorCode::argument,
          fmt::format("this version has no operator '{}', expected 'core' or names such as "
                      "aten.linear",
                      name)};
    set.targets.insert(*found);
  }
  return set;
}

std::vector<SymbolBindings> symbol_choices(const Program& program) {
  const std::vector<PlacedGraph> graphs = placed_graphs(program);
  check::ProgramShapes shapes(program, graphs);
  std::vector<SymbolBindings> choices{shapes.hints()};
  if (program.expressions->symbol_count() == 0) return choices;
  TextMap<std::string, Operator> operators;
  for (size_t g = 0; g < graphs.size(); ++g) {
    size_t position = 0;
    for (const NodeId id : graphs[g].graph->nodes()) {
      const Node& node = graphs[g].graph->node(id);
      auto [entry, is_new] = operators.try_emplace(node.target);
      if (is_new) entry->second = ops::find_operator(node.target);
      if (entry->second) shapes.add(g, position, node, entry->second);
      ++position;
    }
  }
  for (SymbolBindings& each : shapes.assignments(kChoices)) choices.push_back(std::move(each));
  if (choices.size() <= kChoices)
    for (SymbolBindings& each : check::ranged_bindings(program, shapes.hints(), 2 * kChoices))
      choices.push_back(std::move(each));
  return choices;
}

PassResult decompose_to(const OperatorSet& set, Program& program, Pipeline& pipeline) {
  return Decomposer(set, program, pipeline).run();
}

PassResult decompose(Program& program, Pipeline& pipeline) {
  return decompose_to({}, program, pipeline);
}

std::string LeftOperator::line() const {
  const std::string place = node ? node.text() : where;
  return place.empty() ? text : place + ": " + text;
}

namespace {

// Leaves the program as it is if an operator cannot become functional.
void functionalize_where_possible(Decomposition& out, const DecomposeOptions& options,
                                  Pipeline& pipeline) {
  if (is_functional(out.program.graph)) return;
  Program program = out.program;
  Pipeline trial = pipeline;
  if (!run_pass(Pass::inline_writing_regions, program, trial).failures.empty()) return;
  trial.refuse_input = refuse_inputs(program, options.storage_of);
  if (!run_pass(Pass::functionalize, program, trial).failures.empty()) return;
  // The name that PyTorch gives the dialect without writes.
  if (program.dialect() == "TRAINING") program.verifiers = {"ATEN"};
  pipeline.budget = trial.budget;
  out.program = std::move(program);
  out.changed = true;
}

}  // namespace

Result<Decomposition> decompose(const Program& program, const DecomposeOptions& options) {
  PT2_TRY(const OperatorSet set, operator_set(options.to));
  Pipeline pipeline{.budget = NodeBudget(options.limits.max_new_nodes),
                    .spelling = expression_spelling(version_number(program.schema_version))};
  Decomposition out{.program = program};
  const auto take = [&](PassResult result) {
    out.changed = out.changed || result.changed;
    for (PassFailure& failure : result.failures)
      out.left.push_back(
          {std::move(failure.text), std::move(failure.where), std::move(failure.node)});
  };
  if (!has_form(program.graph, Form::without_vmap_regions))
    take(run_pass(Pass::unvmap, out.program, pipeline));
  for (const Pass pass : {Pass::forward_derivatives, Pass::explicit_autocast})
    if (out.left.empty() && !has_form(out.program.graph, pass_info(pass).gives))
      take(run_pass(pass, out.program, pipeline));
  if (out.left.empty()) functionalize_where_possible(out, options, pipeline);
  if (out.left.empty()) take(decompose_to(set, out.program, pipeline));
  // The steps of some operators write: instance_norm updates statistics.
  if (out.left.empty()) functionalize_where_possible(out, options, pipeline);
  if (out.changed) leave_names_to_constants(out.program);
  return out;
}

bool has_no_composites(const Graph& graph) {
  return !any_node(graph, [](const Node& node) {
    return is_composite(ops::find_operator(node.target), node.target);
  });
}

}  // namespace pt2
