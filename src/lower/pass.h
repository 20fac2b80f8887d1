// Passes over programs, from the rows of passes.def. A pass transforms a program into an equivalent
// one that has a given form. Builds without NDEBUG verify the forms before and after.
//
//   Pipeline pipeline{.budget = NodeBudget(limits.max_new_nodes)};
//   PassResult result = run_pass(Pass::unvmap, program, pipeline);
#ifndef PT2_LOWER_PASS_H
#define PT2_LOWER_PASS_H

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lower/node_budget.h"
#include "pt2/diagnostics.h"
#include "pt2/ir/program.h"

namespace pt2 {

enum class Form : uint8_t {
#define PT2_FORM(name, what, has) name,
#include "lower/forms.def"
};
// The predicates of the forms on one graph, nested graphs excluded. Each is defined beside the pass
// that establishes the form.
#define PT2_FORM(name, what, has) bool has(const Graph& graph);
#include "lower/forms.def"
// True if the graph and every graph that it calls have the form. Linear.
bool has_form(const Graph& graph, Form form);

enum class Pass : uint8_t {
#define PT2_PASS(name, what, needs, gives, surety) name,
#include "lower/passes.def"
};
// Whether a program always has the form of `gives` after a pass that reports no failure.
enum class Surety : uint8_t { always, where_proven };
struct PassInfo {
  Pass pass;
  std::string_view name;
  std::string_view what;
  Form needs;
  Form gives;
  Surety surety;
};
// Every pass in the order of the table, in static storage.
std::span<const PassInfo> passes();
inline const PassInfo& pass_info(Pass pass) { return passes()[static_cast<size_t>(pass)]; }

// A part of the program that does not have the form after the pass.
struct PassFailure {
  // The place in the program's JSON before the pass; empty where `node` gives it.
  std::string where{};
  NodePlace node{};
  std::string text{};
  ErrorCode code = ErrorCode::unsupported;
};
struct PassResult {
  bool changed = false;
  // After a failure the program is equivalent to the original only if the pass documents that.
  std::vector<PassFailure> failures{};
};

// Returns why an input must not be written to ("a constant"); empty if it may be written to.
using RefuseInput = std::function<std::string(ValueId)>;

// State shared by the passes that run on a program in sequence.
struct Pipeline {
  NodeBudget budget{};
  // For functionalize: says which inputs of the program's own graph must not be written to, because
  // the write would be lost. Null: all inputs may be written to.
  RefuseInput refuse_input{};
  // The spelling of new expressions.
  ExprSpelling spelling = ExprSpelling::srepr;
  // True if a pass failed. Later passes may then lack the form they need.
  bool failed = false;
};

#define PT2_PASS(name, what, needs, gives, surety) \
  PassResult name(Program& program, Pipeline& pipeline);
#include "lower/passes.def"

PassResult run_pass(Pass pass, Program& program, Pipeline& pipeline);
// Returns the program's graph after a pass; nothing if the graph already has the form. Error: the
// first failure.
Result<std::optional<Graph>> lowered_graph(Pass pass, const Program& program, NodeBudget budget);

}  // namespace pt2

#endif  // PT2_LOWER_PASS_H
