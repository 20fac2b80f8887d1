// A program ready to run: operators resolved, weights attached. Running it gives PyTorch's numbers,
// without PyTorch.
//
//   auto model = pt2::Model::load("model.pt2").value();
//   auto outputs = model.run({{"x", pt2::Value(tensor)}}).value();
//
// A Model never changes and may be shared by threads. What a program changes (buffers such as
// running statistics) lives in a Session, one per thread of calls.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "pt2/limits.h"
#include "pt2/operators.h"
#include "pt2/package.h"
#include "pt2/program.h"
#include "pt2/value.h"

namespace pt2 {

struct LoadOptions {
  Limits limits;
  // Which program of a package; empty: the only one, or the one called "model".
  std::string model;
};

// An input or output as callers see it, in the flat order of (args, kwargs) or of the result.
struct ModelValue {
  std::string name;  // "x", "args[0]", "x.a[1]"
  std::string type;  // "f32[batch 1..64, 3]", "int", "none"
  // The graph's record of the tensor; null for numbers and constants.
  const TensorMeta* tensor = nullptr;
  bool is_keyword = false;
};

using NamedValues = std::vector<std::pair<std::string, Value>>;

class Session;

class Model {
 public:
  // Reads the file, resolves every operator and attaches the weights, which stay mapped. Errors:
  // those of Package::open; `unsupported`, naming every operator without a kernel and where it is
  // called.
  static Result<Model> load(const std::string& path, const LoadOptions& options = {});
  static Result<Model> from_package(std::shared_ptr<const Package> package,
                                    const LoadOptions& options = {});

  const Program& program() const;
  const Package& package() const;
  std::span<const ModelValue> inputs() const;
  std::span<const ModelValue> outputs() const;

  // Runs once on fresh state: changes to buffers are computed and then forgotten. Inputs are in the
  // order of inputs(); outputs in the order of outputs(). Errors: `argument` when an input does not
  // fit (count, dtype, sizes, range), `invalid` when an operator refuses its arguments, at the node
  // that called it.
  Result<std::vector<Value>> run(std::vector<Value> inputs) const;
  // By name or by decimal position, in any order.
  Result<std::vector<Value>> run(const NamedValues& inputs) const;
  // So that run({{"x", tensor}}) means a name and a tensor, not two inputs.
  Result<std::vector<Value>> run(std::initializer_list<NamedValues::value_type> inputs) const {
    return run(NamedValues(inputs));
  }
  // The flat order of named inputs; `argument` for unknown, repeated and missing names.
  Result<std::vector<Value>> order_inputs(const NamedValues& inputs) const;

  // Implementation; shared by sessions.
  struct Shared;
  const std::shared_ptr<const Shared>& shared() const { return shared_; }

 private:
  explicit Model(std::shared_ptr<const Shared> shared) : shared_(std::move(shared)) {}
  std::shared_ptr<const Shared> shared_;
};

// Runs a model again and again, keeping what it changes, as a torch.nn.Module would. Not for two
// threads at once.
class Session {
 public:
  explicit Session(const Model& model);

  // As Model::run. An input tensor that the program changes is written in place; where its storage
  // is read-only, `inputs` gets a changed copy instead.
  Result<std::vector<Value>> run(std::span<Value> inputs);
  // The present value of a parameter, buffer or constant by its FQN, or of a graph input by name;
  // null when there is none.
  const Tensor* state(std::string_view name) const;
  const Program& program() const;
  // Seeds the random operators; 0 at first.
  void seed(uint64_t seed) { seed_ = seed; }

 private:
  std::shared_ptr<const Model::Shared> shared_;
  std::vector<Value> state_;  // one per graph input; none for user inputs
  uint64_t seed_ = 0;
};

}  // namespace pt2
