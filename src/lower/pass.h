// Passes over programs, by the rows of passes.def: a pass makes a program into another that
// computes the same, in a form that whoever uses it needs. Builds without NDEBUG verify the forms
// before and after.
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
#include "pt2/program.h"

namespace pt2 {

enum class Form : uint8_t {
#define PT2_FORM(name, what, has) name,
#include "lower/forms.def"
};
// Of the graph and those that it calls. Linear in them.
bool has_form(const Graph& graph, Form form);

enum class Pass : uint8_t {
#define PT2_PASS(name, what, needs, gives) name,
#include "lower/passes.def"
};
struct PassInfo {
  Pass pass;
  std::string_view name;
  std::string_view what;
  Form needs;
  Form gives;
};
// Every pass, in the order of the table; static storage.
std::span<const PassInfo> passes();
inline const PassInfo& pass_info(Pass pass) { return passes()[static_cast<size_t>(pass)]; }

// Something of the program that has no such form.
struct PassFailure {
  // In the program's JSON, before anything was changed; empty where `node` says it.
  std::string where{};
  NodePlace node{};
  std::string text{};
  ErrorCode code = ErrorCode::unsupported;
};
struct PassResult {
  bool changed = false;
  // When there are any, the program computes the same only where the pass says so.
  std::vector<PassFailure> failures{};
};

// Why an input may not be written to ("a constant"); empty where it may.
using RefuseInput = std::function<std::string(ValueId)>;

// What passes that follow one another on a program share.
struct Pipeline {
  NodeBudget budget{};
  // For functionalize: inputs of the program's own graph whose writes would be lost. None if empty.
  RefuseInput refuse_input{};
  // Of expressions that are new.
  ExprSpelling spelling = ExprSpelling::srepr;
  // A pass failed: those behind it may not find what they need.
  bool failed = false;
};

#define PT2_PASS(name, what, needs, gives) PassResult name(Program& program, Pipeline& pipeline);
#include "lower/passes.def"

PassResult run_pass(Pass pass, Program& program, Pipeline& pipeline);
// The program's graph after a pass; nothing where it has the form that the pass gives already.
// Error: the first failure.
Result<std::optional<Graph>> lowered_graph(Pass pass, const Program& program, NodeBudget budget);

}  // namespace pt2

#endif  // PT2_LOWER_PASS_H
