// Engines compute programs. An engine is prepared once for a model and shared by threads. Each
// session has an engine session, which keeps memory and threads from one call to the next. The
// state that a program changes belongs to Session, not to engines.
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

namespace pt2::ops {
struct Context;
}

namespace pt2::run {

struct EngineCall {
  uint64_t seed = 0;                   // seed of the random operators
  const Observer* observer = nullptr;  // null: nobody observes values
  Limits limits{};                     // limits of this call
  Cancellation cancellation{};         // checked between nodes and between rounds of loops
  const std::function<void(const StepTime&)>* on_step = nullptr;    // null: nobody asks
  const std::function<void(std::string_view)>* on_print = nullptr;  // null: nobody asks
  // The caller's memory for results; null if there is none. An engine may compute into this memory
  // and then returns the tensor that it was given; the session copies any other result.
  OutputMemory* outputs = nullptr;
  // Inputs that may grow, with positions among the graph's inputs. An engine may ignore them.
  std::span<const GrowingInput> growing{};
};

// Notes what a call computed, for calls that share a limit.
void count_call(uint64_t work);

// Returns what the operators of the call may use.
ops::Context context_of(const EngineCall& call);

class EngineSession {
 public:
  virtual ~EngineSession() = default;
  // `inputs` are those of the program's graph, including weights and state; the results are the
  // graph's outputs, in order. Inputs that the program writes to are written in place. An input
  // that still has the storage of the weight that the engine was prepared with has the weight's
  // elements; with another storage, it may have any elements. Errors carry the node.
  virtual Result<std::vector<Value>> run(std::vector<Value> inputs, const EngineCall& call) = 0;
  // Repeats a call with inputs like those of earlier calls, and with the weights that the engine
  // was prepared with, without checking anything again. `inputs` are the graph's inputs that are
  // not weights, in order. Nothing (nullopt), with nothing done, if the call cannot be repeated.
  virtual Result<std::optional<std::vector<Value>>> run_again(std::span<const Value> inputs,
                                                              const Cancellation& cancellation) {
    static_cast<void>(inputs);
    static_cast<void>(cancellation);
    return std::optional<std::vector<Value>>();
  }
  // The same, into row-major tensors of the caller, without allocating. False, with nothing done,
  // if the call cannot be repeated.
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
  // For each input of the graph: true if a call may write to its storage.
  virtual std::vector<bool> written_inputs() const = 0;
  // The steps of a call, if there is a plan.
  virtual std::vector<PlannedStep> steps() const { return {}; }
  // See Model::trim.
  virtual uint64_t trim() const { return 0; }
  // The engine must outlive the session.
  virtual std::unique_ptr<EngineSession> start_session(const SessionOptions& options) const = 0;
};

// Everything in it outlives the engine.
struct EngineSource {
  const Program& program;
  std::span<const Value> weights;  // one per graph input; none for user inputs and tokens
  const CustomOperators& operators;
  const Limits& limits;
  std::span<const GraphOutput> outputs;  // what a call does with each result
};

// Errors: `unsupported` naming every operator without a kernel; `invalid` if arguments do not fit a
// signature.
using EngineFactory = Result<std::unique_ptr<const Engine>> (*)(const EngineSource& source);
EngineFactory engine_factory(EngineKind kind);

}  // namespace pt2::run

#endif  // PT2_RUN_ENGINE_H
