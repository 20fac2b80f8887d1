#include "lower/pass.h"

#include <algorithm>

#include "base/check.h"
#include "ir/walk.h"

namespace pt2 {
namespace {

constexpr PassInfo kPasses[] = {
#define PT2_PASS(name, what, needs, gives, surety) \
  {Pass::name, #name, what, Form::needs, Form::gives, Surety::surety},
#include "lower/passes.def"
};

using PassFunction = PassResult (*)(Program&, Pipeline&);
constexpr PassFunction kPassFunctions[] = {
#define PT2_PASS(name, what, needs, gives, surety) name,
#include "lower/passes.def"
};

using FormFunction = bool (*)(const Graph&);
constexpr FormFunction kFormFunctions[] = {
#define PT2_FORM(name, what, has) has,
#include "lower/forms.def"
};

}  // namespace

bool has_any_form(const Graph&) { return true; }

std::span<const PassInfo> passes() { return kPasses; }

bool has_form(const Graph& graph, Form form) {
  bool has = kFormFunctions[static_cast<size_t>(form)](graph);
  for (const NodeId id : graph.nodes())
    for_each_callee(graph.node(id), [&](SubgraphId nested) {
      has = has && has_form(graph.subgraph(nested), form);
    });
  return has;
}

PassResult run_pass(Pass pass, Program& program, Pipeline& pipeline) {
#ifndef NDEBUG
  const PassInfo& info = kPasses[static_cast<size_t>(pass)];
  PT2_CHECK(pipeline.failed || has_form(program.graph, info.needs));
#endif
  PassResult result = kPassFunctions[static_cast<size_t>(pass)](program, pipeline);
  pipeline.failed = pipeline.failed || !result.failures.empty();
#ifndef NDEBUG
  PT2_CHECK(pipeline.failed || info.surety != Surety::always ||
            has_form(program.graph, info.gives));
#endif
  return result;
}

Result<std::optional<Graph>> lowered_graph(Pass pass, const Program& program, NodeBudget budget) {
  if (has_form(program.graph, kPasses[static_cast<size_t>(pass)].gives))
    return std::optional<Graph>();
  Program lowered = program;
  Pipeline pipeline{.budget = budget};
  PassResult result = run_pass(pass, lowered, pipeline);
  if (result.failures.empty()) return std::optional<Graph>(std::move(lowered.graph));
  PassFailure& first = result.failures.front();
  return Error{first.code, std::move(first.text), std::move(first.where)};
}

}  // namespace pt2
