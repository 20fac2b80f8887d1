#include "run/reference/reference_engine.h"

#include <optional>

#include "lower/pass.h"
#include "run/reference/executor.h"

namespace pt2::run {
namespace {

// Computes on the caller's thread and keeps nothing between calls.
class ReferenceSession final : public EngineSession {
 public:
  explicit ReferenceSession(const BoundGraph& graph) : graph_(graph) {}

  Result<std::vector<Value>> run(std::vector<Value> inputs, const EngineCall& call) override {
    ops::Context context = context_of(call);
    Executor executor(context, call.limits, call.cancellation);
    executor.observe(call.observer);
    Result<std::vector<Value>> results = executor.run(graph_, std::move(inputs));
    count_call(executor.work());
    return results;
  }

 private:
  const BoundGraph& graph_;
};

class ReferenceEngine final : public Engine {
 public:
  explicit ReferenceEngine(const EngineSource& source) : source_(source) {}

  Result<void> prepare() {
    PT2_TRY(lowered_, lowered_graph(Pass::forward_derivatives, source_.program,
                                    NodeBudget(source_.limits.max_new_nodes)));
    PT2_TRY(bound_, bind_graph(lowered_ ? *lowered_ : source_.program.graph, source_.operators));
    return {};
  }

  std::vector<bool> written_inputs() const override { return inputs_possibly_written(*bound_); }
  std::unique_ptr<EngineSession> start_session(const SessionOptions&) const override {
    return std::make_unique<ReferenceSession>(*bound_);
  }

 private:
  EngineSource source_;
  std::optional<Graph> lowered_;  // the graph without dual numbers, if the program's graph has any
  std::unique_ptr<BoundGraph> bound_;
};

}  // namespace

Result<std::unique_ptr<const Engine>> prepare_reference_engine(const EngineSource& source) {
  auto engine = std::make_unique<ReferenceEngine>(source);
  PT2_TRY_VOID(engine->prepare());
  return std::unique_ptr<const Engine>(std::move(engine));
}

}  // namespace pt2::run
