// The immutable state that the sessions of a model share.
#ifndef PT2_RUN_MODEL_SHARED_H
#define PT2_RUN_MODEL_SHARED_H

#include <functional>
#include <memory>
#include <unordered_set>
#include <vector>

#include "run/calling_convention.h"
#include "run/engine.h"
#include "run/subclass_parameters.h"

namespace pt2 {

struct Model::Shared {
  Shared(std::shared_ptr<const Package> opened, const Program& entry, const LoadOptions& options)
      : package(std::move(opened)),
        program(&entry),
        limits(options.limits),
        operators(options.operators),
        convention(entry) {}

  // Returns the storages of weights that a call may write to; each session copies them.
  std::unordered_set<const Storage*> written_storages() const;

  std::shared_ptr<const Package> package;
  const Program* program;
  // The program with inner tensors as inputs, if parameters of the file are tensor subclasses.
  std::shared_ptr<const run::UnwrappedProgram> unwrapped;
  Limits limits;
  uint64_t file_bytes = 0;
  CustomOperators operators;
  run::CallingConvention convention;
  // One per graph input: the tensor of a parameter, buffer or constant, or an object; None for user
  // inputs and tokens.
  std::vector<Value> weights;
  std::unique_ptr<const run::Engine> engine;
  // One per graph input: true if an operator or a mutation output may write to it.
  std::vector<bool> written;
};

namespace run {

// Returns another tensor with the same elements, to be used instead of a weight of the file;
// undefined if there is none.
using WeightSource = std::function<Tensor(const PayloadTensor& weight)>;

// Returns a model that runs on the given engine, whatever the options choose, with weights from
// `source` where it has them.
Result<Model> make_model(std::shared_ptr<const Package> package, const LoadOptions& options,
                         EngineFactory prepare_engine, const WeightSource& source = {});

// Reports what make_model refuses about a program and its tensors, without preparing anything. Does
// not report operators without a kernel, which operators_used finds.
Result<void> check_can_load(const Program& program, const Payloads& payloads);

}  // namespace run
}  // namespace pt2

#endif  // PT2_RUN_MODEL_SHARED_H
