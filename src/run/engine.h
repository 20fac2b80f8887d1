// What computes programs. An engine is prepared once for a model, which threads share; each session
// has an engine session, which keeps what is worth keeping from one call to the next: memory,
// threads. The state that a program changes belongs to Session, not to engines.
#ifndef PT2_RUN_ENGINE_H
#define PT2_RUN_ENGINE_H

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "pt2/ir/program.h"
#include "pt2/limits.h"
#include "pt2/ops/custom_operators.h"
#include "pt2/run_options.h"
#include "pt2/tools/observer.h"
#include "pt2/value.h"
#include "run/calling_convention.h"
#include "run/cancellation.h"
#include "run/output_memory.h"

namespace pt2::run {

struct EngineCall {
  uint64_t seed = 0;                   // of the random operators
  const Observer* observer = nullptr;  // null: nobody asks for single values
  Limits limits{};                     // of this call
  Cancellation cancellation{};         // to be checked between nodes and between rounds of loops
  const std::function<void(const StepTime&)>* on_step = nullptr;  // null: nobody asks
  // Where the caller wants results; null when it does not say. An engine may compute into it, and
  // then returns the tensor that it was given; any other result is copied by the session.
  OutputMemory* outputs = nullptr;
  // With positions among the inputs of the graph. An engine may do without.
  std::span<const GrowingInput> growing{};
};

class EngineSession {
 public:
  virtual ~EngineSession() = default;
  // `inputs` are those of the program's graph, weights and state among them; the results are its
  // outputs, in order. Inputs that the program writes to are written in place. An input that still
  // lies in the storage of the weight that the engine was prepared with has the weight's elements;
  // in another storage it may have any. Errors carry the node.
  virtual Result<std::vector<Value>> run(std::vector<Value> inputs, const EngineCall& call) = 0;
  // The same for a call like earlier ones, with the weights that the engine was prepared with:
  // nothing is checked again. `inputs` are those that are no weights, in the order of the graph's.
  // Nothing, with nothing done, where that cannot be.
  virtual Result<std::optional<std::vector<Value>>> run_again(std::span<const Value> inputs,
                                                              const Cancellation& cancellation) {
    static_cast<void>(inputs);
    static_cast<void>(cancellation);
    return std::optional<std::vector<Value>>();
  }
  // Into row-major tensors of the caller's, with nothing allocated; false as above.
  virtual Result<bool> run_again_into(std::span<const Value> inputs, std::span<Value> outputs,
                                      const Cancellation& cancellation) {
    static_cast<void>(inputs);
    static_cast<void>(outputs);
    static_cast<void>(cancellation);
    return false;
  }
};

class Engine {
 public:
  virtual ~Engine() = default;
  // For each input of the graph: may a call write to its storage?
  virtual std::vector<bool> written_inputs() const = 0;
  // The steps of a call, where there is a plan.
  virtual std::vector<PlannedStep> steps() const { return {}; }
  // Model::trim.
  virtual uint64_t trim() const { return 0; }
  // The engine must outlive the session.
  virtual std::unique_ptr<EngineSession> start_session(const SessionOptions& options) const = 0;
};

// All of it outlives the engine.
struct EngineSource {
  const Program& program;
  std::span<const Value> weights;  // one per input of the graph; none for user inputs and tokens
  const CustomOperators& operators;
  const Limits& limits;
  std::span<const GraphOutput> outputs;  // what a call does with each result
};

// Errors: `unsupported` naming every operator without a kernel; `invalid` when arguments do not fit
// a signature.
using EngineFactory = Result<std::unique_ptr<const Engine>> (*)(const EngineSource& source);
EngineFactory engine_factory(EngineKind kind);

}  // namespace pt2::run

#endif  // PT2_RUN_ENGINE_H
