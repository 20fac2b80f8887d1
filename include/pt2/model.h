// A program ready to run: operators resolved, weights attached. Running it gives PyTorch's numbers,
// without PyTorch.
//
//   auto model = pt2::Model::load("model.pt2").value();
//   auto outputs = model.run({{"x", pt2::Value(tensor)}}).value();
//
// Or as Python calls it, with containers for inputs and result:
//
//   auto result = model.call({{"x", tensor}, {"sizes", pt2::Tree::list({2, 3})}}).value();
//   pt2::Tensor hidden = result["hidden"][0].tensor().value();
//
// A Model never changes and may be shared by threads. What a program changes (buffers such as
// running statistics) lives in a Session, one per thread of calls. What the caller has memory for
// is computed into it:
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
  // Which program of a package; empty: the only one, or the one called "model".
  std::string model{};
  // Kernels for what this build does not have, or should not take its own for.
  CustomOperators operators{};
  EngineKind engine = EngineKind::planned;
};

// An input or output as callers see it, in the flat order of (args, kwargs) or of the result.
struct ModelValue {
  std::string name;  // "x", "args[0]", "x.a[1]"; of a gradient, "grad.conv.weight"
  std::string type;  // "f32[batch 1..64, 3]", "int", "none"
  // The graph's record of the tensor; null for numbers and constants.
  const TensorMeta* tensor = nullptr;
  bool is_keyword = false;
};

using NamedValues = std::vector<std::pair<std::string, Value>>;
using NamedTrees = std::vector<std::pair<std::string, Tree>>;

namespace run {
class EngineSession;
}

// From a Model that was moved from, only destroying it and assigning to it are allowed.
class Model {
 public:
  // Reads the file, resolves every operator and attaches the weights, which stay mapped. Errors:
  // those of Package::open; `unsupported`, naming every operator without a kernel and where it is
  // called.
  static Result<Model> load(const std::string& path, const LoadOptions& options = {});
  // Error `argument` where there is no package.
  static Result<Model> from_package(std::shared_ptr<const Package> package,
                                    const LoadOptions& options = {});

  // What these give lives as long as a copy of the model does, so a temporary gives nothing:
  // `for (auto& i : Model::load(path).value().inputs())` would look at what is gone.
  const Program& program() const&;
  const Program& program() && = delete;
  const Package& package() const&;
  const Package& package() && = delete;
  std::span<const ModelValue> inputs() const&;
  std::span<const ModelValue> inputs() && = delete;
  std::span<const ModelValue> outputs() const&;
  std::span<const ModelValue> outputs() && = delete;

  // Results have the sizes that PyTorch gives them; their strides are the engine's to choose.
  //
  // Runs once on fresh state: changes to buffers are computed and then forgotten. An input tensor
  // that the program itself changes is written in place, as by Session::run: pass a clone() where
  // the caller's memory must stay as it is. Inputs are in the order of inputs(); outputs in the
  // order of outputs(). Errors: `argument` when an input does not fit (count, dtype, sizes, range)
  // or has no memory for its elements, `invalid` when an operator refuses its arguments, at the
  // node that called it; `cancelled` as the options say.
  Result<std::vector<Value>> run(std::vector<Value> inputs, const CallOptions& options = {}) const;
  // By name or by decimal position, in any order.
  Result<std::vector<Value>> run(const NamedValues& inputs, const CallOptions& options = {}) const;
  // So that run({{"x", tensor}}) means a name and a tensor, not two inputs.
  Result<std::vector<Value>> run(std::initializer_list<NamedValues::value_type> inputs,
                                 const CallOptions& options = {}) const {
    return run(NamedValues(inputs), options);
  }
  // As run, with structured inputs and the result as PyTorch returns it. A name is that of an
  // argument of forward ("x"), of a place in one ("x.a[1]"), or the position of a leaf in inputs().
  // Gradients that a joint program gives besides its result are not part of it.
  Result<Tree> call(const NamedTrees& inputs, const CallOptions& options = {}) const;

  // The arguments of forward; their leaves are inputs(), in order.
  std::span<const CallArgument> arguments() const&;
  std::span<const CallArgument> arguments() && = delete;
  // The flat order of named inputs. Constants of the program may be left out. Errors: `argument`
  // for unknown, repeated and missing names, and where a value has not the structure of its place.
  Result<std::vector<Value>> order_inputs(const NamedTrees& inputs) const;
  // What `outputs`, as run() gives them, are in Python.
  Result<Tree> structure_outputs(std::vector<Value> outputs) const;

  // What the planned engine makes of the program, in the order in which calls compute it; what
  // depends on weights alone is computed before. Empty for the reference engine, which follows the
  // graph. Linear in the program.
  std::vector<PlannedStep> plan() const;

  // Gives back what ended calls left for the next ones, of all sessions: memory of values and
  // threads. Weights in the order in which kernels read them stay. For a while without calls, or
  // after some of unusual sizes; the next call is as one with inputs of new sizes. Calls that are
  // running keep theirs. Returns the bytes. For any thread, at any time.
  uint64_t trim() const;

  // Implementation; shared by sessions.
  struct Shared;
  const std::shared_ptr<const Shared>& shared() const { return shared_; }
  explicit Model(std::shared_ptr<const Shared> shared) : shared_(std::move(shared)) {}

 private:
  std::shared_ptr<const Shared> shared_;
};

// Runs a model again and again, keeping what it changes, as a torch.nn.Module would. Not for two
// threads at once. One that was moved from can only be destroyed or assigned to.
class Session {
 public:
  explicit Session(const Model& model, const SessionOptions& options = {});
  // There is no copy: one that shared the state would change under its owner. fork() copies.
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();
  // Another session with a state of its own, which is now as this one's; seeded like it, observed
  // by nobody.
  Session fork() const;

  // As Model::run. An input tensor that the program changes is written in place; where its storage
  // is read-only, `inputs` gets a changed copy instead.
  Result<std::vector<Value>> run(std::span<Value> inputs, const CallOptions& options = {});
  // The same with the caller's memory for results. `outputs` has an entry for each of
  // Model::outputs: a tensor, of the output's dtype and sizes and in any strides, is filled; any
  // other entry becomes the result. The memory may be that of inputs, but not that of another
  // output. Error `argument`, before any output is written, naming an output whose memory does not
  // fit.
  Result<void> run_into(std::span<Value> inputs, std::span<Value> outputs,
                        const CallOptions& options = {});
  // The same where the sizes of results are not known before: `allocate` is asked for the memory of
  // each output that is a tensor. Error `argument` where it is empty.
  Result<std::vector<Value>> run_into(std::span<Value> inputs, const OutputAllocator& allocate,
                                      const CallOptions& options = {});
  // As Model::call; an input tensor that the program changes is written in place where it can be.
  Result<Tree> call(const NamedTrees& inputs, const CallOptions& options = {});
  // The present value of a parameter, buffer or constant by its FQN, or of a graph input by name;
  // null when there is none.
  const Tensor* state(std::string_view name) const;
  // The same to write to, as an optimizer does: later runs of this session see it, in every state
  // that shares the storage. Error `argument` when there is none.
  Result<Tensor> mutable_state(std::string_view name);
  const Program& program() const;
  // Seeds the random operators; 0 at first.
  void seed(uint64_t seed) { seed_ = seed; }
  // Is told every value that later runs compute; an empty one ends that. An observer may call this:
  // the run that it is told of goes on as it began.
  void observe(Observer observer) { observer_ = std::move(observer); }

  const SessionOptions& options() const { return options_; }

  // Implementation.
  const Model::Shared& shared() const { return *shared_; }

 private:
  Session(std::shared_ptr<const Model::Shared> shared, const SessionOptions& options,
          std::vector<Value> state);
  Result<std::vector<Value>> run_with(std::span<Value> inputs, const CallOptions& options,
                                      const OutputAllocator* allocate);
  // Whether this may be a call like the ones before it, of which nothing has to be checked again.
  bool may_repeat(std::span<const Value> inputs, const CallOptions& options) const;

  std::shared_ptr<const Model::Shared> shared_;
  SessionOptions options_;
  std::vector<Value> state_;        // one per graph input; none for user inputs
  bool has_other_weights_ = false;  // than the model
  uint64_t seed_ = 0;
  Observer observer_;
  std::unique_ptr<run::EngineSession> engine_;
};

}  // namespace pt2

#endif  // PT2_MODEL_H
