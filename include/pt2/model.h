// Runs programs. A Model is a program whose operators are resolved and whose weights are attached.
// Running it gives the numbers that PyTorch gives, without PyTorch.
//
//   auto model = pt2::Model::load("model.pt2").value();
//   auto outputs = model.run({{"x", pt2::Value(tensor)}}).value();
//
// Calls as in Python take and return containers:
//
//   auto result = model.call({{"x", tensor}, {"sizes", pt2::Tree::list({2, 3})}}).value();
//   pt2::Tensor hidden = result["hidden"][0].tensor().value();
//
// A Model never changes, and threads may share it. A Session holds the state that a program changes
// (buffers such as running statistics); each thread needs its own. A session can compute results
// into the caller's memory:
//
//   pt2::Session session(model);
//   std::vector<pt2::Value> inputs = {image}, results = {scores};
//   PT2_TRY_VOID(session.run_into(inputs, results));
#ifndef PT2_MODEL_H
#define PT2_MODEL_H

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "pt2/ir/program.h"
#include "pt2/ir/pytree.h"
#include "pt2/limits.h"
#include "pt2/ops/custom_operators.h"
#include "pt2/ops/operators.h"
#include "pt2/package.h"
#include "pt2/run_options.h"
#include "pt2/tools/observer.h"
#include "pt2/value.h"

namespace pt2 {

struct LoadOptions {
  Limits limits{};
  // The program of a package to load. Empty: the only program, or the one called "model".
  std::string model{};
  // Kernels for operators that this build does not have. They also replace the kernels that it has.
  CustomOperators operators{};
  EngineKind engine = EngineKind::planned;
};

// An input or output from the caller's view: a leaf of (args, kwargs), or of the result.
struct ModelValue {
  std::string name;  // "x", "args[0]", "x.a[1]"; for a gradient, "grad.conv.weight"
  std::string type;  // "f32[batch 1..64, 3]", "int", "none"
  // The metadata of the tensor in the graph; null for numbers and constants.
  const TensorMeta* tensor = nullptr;
  bool is_keyword = false;
};

using NamedValues = std::vector<std::pair<std::string, Value>>;
using NamedTrees = std::vector<std::pair<std::string, Tree>>;

namespace run {
class EngineSession;
}

// A program ready to run. Immutable; copies are cheap and share everything. A moved-from Model may
// only be destroyed or assigned to.
class Model {
 public:
  // Reads the file, resolves every operator and attaches the weights, which stay mapped. Errors:
  // those of Package::open; `unsupported`, with every operator that has no kernel and its calls.
  static Result<Model> load(const std::string& path, const LoadOptions& options = {});
  // Makes a model of a program of an opened package. Error `argument` if `package` is null.
  static Result<Model> from_package(std::shared_ptr<const Package> package,
                                    const LoadOptions& options = {});

  // The results of these functions live as long as a copy of the model does. Temporaries do not
  // have them: `for (auto& i : Model::load(path).value().inputs())` would read freed memory.
  const Program& program() const&;
  const Program& program() && = delete;
  const Package& package() const&;
  const Package& package() && = delete;
  std::span<const ModelValue> inputs() const&;
  std::span<const ModelValue> inputs() && = delete;
  std::span<const ModelValue> outputs() const&;
  std::span<const ModelValue> outputs() && = delete;

  // Runs the program once, on fresh state: changes to buffers are lost. Inputs are in the order of
  // inputs(), results in the order of outputs(). Results have the sizes that PyTorch gives; the
  // engine chooses their strides. The program changes an input tensor in place, as in Session::run:
  // pass a clone() to keep the caller's memory unchanged. Errors: `argument` if an input does not
  // fit (count, dtype, sizes, range) or has no memory for its elements; `invalid` if an operator
  // refuses its arguments, at the node that called it; `cancelled` as the options say.
  Result<std::vector<Value>> run(std::vector<Value> inputs, const CallOptions& options = {}) const;
  // As run, with inputs by name or by decimal index, in any order.
  Result<std::vector<Value>> run(const NamedValues& inputs, const CallOptions& options = {}) const;
  // Makes run({{"x", tensor}}) mean a name and a tensor, not two inputs.
  Result<std::vector<Value>> run(std::initializer_list<NamedValues::value_type> inputs,
                                 const CallOptions& options = {}) const {
    return run(NamedValues(inputs), options);
  }
  // As run, with structured inputs and the structured result that PyTorch returns. A name is an
  // argument of forward ("x"), a part of an argument ("x.a[1]"), or the index of a leaf in
  // inputs(). The result does not include the gradients that a joint program returns.
  Result<Tree> call(const NamedTrees& inputs, const CallOptions& options = {}) const;

  // Returns the arguments of forward. Their leaves are inputs(), in order.
  std::span<const CallArgument> arguments() const&;
  std::span<const CallArgument> arguments() && = delete;
  // Returns named inputs in the order of inputs(). Constants of the program may be missing. Error
  // `argument` for unknown, repeated and missing names, and for a value whose structure differs
  // from that of the argument.
  Result<std::vector<Value>> order_inputs(const NamedTrees& inputs) const;
  // Returns the structured result for `outputs`, the results of run().
  Result<Tree> structure_outputs(std::vector<Value> outputs) const;

  // Returns the steps of the planned engine in execution order. Steps that depend only on weights
  // are not included: they are computed before. Empty for the reference engine, which follows the
  // graph. Linear in the program.
  std::vector<PlannedStep> plan() const;

  // Frees the memory of values and the threads that all sessions keep from finished calls for
  // reuse. Returns the number of bytes freed. Useful before a time without calls, or after calls
  // with unusual sizes. The next call costs as much as a call with inputs of new sizes. Packed
  // weights stay, and so does the memory of running calls. Any thread may call this at any time.
  uint64_t trim() const;

  // Implementation. Sessions share it.
  struct Shared;
  const std::shared_ptr<const Shared>& shared() const { return shared_; }
  explicit Model(std::shared_ptr<const Shared> shared) : shared_(std::move(shared)) {}

 private:
  std::shared_ptr<const Shared> shared_;
};

// Runs a model repeatedly and keeps the state that the program changes, as a torch.nn.Module does.
// Only one thread may use a session at a time. A moved-from Session may only be destroyed or
// assigned to.
class Session {
 public:
  explicit Session(const Model& model, const SessionOptions& options = {});
  // Sessions cannot be copied, because a copy that shares the state would change it for both.
  // fork() copies the state.
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();
  // Returns another session with its own copy of the present state and the same seed, but without
  // the observer.
  Session fork() const;

  // As Model::run, on the state of the session. The program changes an input tensor in place. If
  // the storage of the input is read-only, its entry in `inputs` becomes a changed copy instead. A
  // call that fails may already have written to state and inputs, as in PyTorch.
  Result<std::vector<Value>> run(std::span<Value> inputs, const CallOptions& options = {});
  // As run, with the caller's memory for results. `outputs` has an entry for each of
  // Model::outputs. An entry that is a tensor is filled: it must have the dtype and the sizes of
  // the output and may have any strides. Any other entry is replaced by the result. An output may
  // share memory with inputs, but not with another output. Error `argument`, before any output is
  // written, if the memory of an output does not fit; the error names the output.
  Result<void> run_into(std::span<Value> inputs, std::span<Value> outputs,
                        const CallOptions& options = {});
  // As above, for results of unknown sizes: the run calls `allocate` for the memory of each output
  // that is a tensor. Error `argument` if `allocate` is empty.
  Result<std::vector<Value>> run_into(std::span<Value> inputs, const OutputAllocator& allocate,
                                      const CallOptions& options = {});
  // As Model::call, on the state of the session. The program changes an input tensor in place
  // unless its storage is read-only.
  Result<Tree> call(const NamedTrees& inputs, const CallOptions& options = {});
  // Returns the present value of a parameter, buffer or constant by its FQN, or of a graph input by
  // its name; null if there is none.
  const Tensor* state(std::string_view name) const;
  // Returns the same tensor for writing, as an optimizer does. Later runs of this session see the
  // change, in every state that shares the storage. Error `argument` if there is none.
  Result<Tensor> mutable_state(std::string_view name);
  const Program& program() const;
  // Seeds the random operators. The seed of a new session is 0.
  void seed(uint64_t seed) { seed_ = seed; }
  // Sets the observer, which receives every value that later runs compute. An empty one removes it.
  // An observer may call this function: the present run keeps its observer.
  void observe(Observer observer) { observer_ = std::move(observer); }

  const SessionOptions& options() const { return options_; }

  // Implementation.
  const Model::Shared& shared() const { return *shared_; }

 private:
  Session(std::shared_ptr<const Model::Shared> shared, const SessionOptions& options,
          std::vector<Value> state);
  Result<std::vector<Value>> run_with(std::span<Value> inputs, const CallOptions& options,
                                      const OutputAllocator* allocate);
  // True if this call may be like the call before it, so that its checks can be skipped.
  bool may_repeat(std::span<const Value> inputs, const CallOptions& options) const;

  std::shared_ptr<const Model::Shared> shared_;
  SessionOptions options_;
  std::vector<Value> state_;        // one per graph input; none for user inputs
  bool has_other_weights_ = false;  // true if weights differ from those of the model
  uint64_t seed_ = 0;
  Observer observer_;
  std::unique_ptr<run::EngineSession> engine_;
};

}  // namespace pt2

#endif  // PT2_MODEL_H
