// What the sessions of a model share. It never changes.
#ifndef PT2_RUN_MODEL_SHARED_H
#define PT2_RUN_MODEL_SHARED_H

#include <memory>
#include <unordered_set>
#include <vector>

#include "run/calling_convention.h"
#include "run/engine.h"

namespace pt2 {

struct Model::Shared {
  Shared(std::shared_ptr<const Package> opened, const Program& entry, const LoadOptions& options)
      : package(std::move(opened)),
        program(&entry),
        limits(options.limits),
        operators(options.operators),
        convention(entry) {}

  // Those of weights that a call may write to; each session has its own copies.
  std::unordered_set<const Storage*> written_storages() const;

  std::shared_ptr<const Package> package;
  const Program* program;
  Limits limits;
  uint64_t file_bytes = 0;
  CustomOperators operators;
  run::CallingConvention convention;
  // One per graph input: a parameter's, buffer's or constant's tensor, an object; none for user
  // inputs and tokens.
  std::vector<Value> weights;
  std::unique_ptr<const run::Engine> engine;
  // One per graph input: some operator or some mutation output may write to it.
  std::vector<bool> written;
};

namespace run {

// A model that another engine computes than the options pick.
Result<Model> make_model(std::shared_ptr<const Package> package, const LoadOptions& options,
                         EngineFactory prepare_engine);

}  // namespace run
}  // namespace pt2

#endif  // PT2_RUN_MODEL_SHARED_H
