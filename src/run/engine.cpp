#include "run/engine.h"

#include "base/check.h"
#include "base/memory_account.h"
#include "ops/op_def.h"
#include "run/plan/planned_engine.h"
#include "run/reference/reference_engine.h"

namespace pt2::run {

void count_call(uint64_t work) {
  if (const auto account = MemoryAccount::current(); account != nullptr) account->add_call(work);
}

ops::Context context_of(const EngineCall& call) {
  ops::Context out;
  out.seed = call.seed;
  out.max_tensor_bytes = call.limits.max_tensor_bytes;
  out.on_print = call.on_print;
  return out;
}

EngineFactory engine_factory(EngineKind kind) {
  switch (kind) {
    case EngineKind::planned:
      return prepare_planned_engine;
    case EngineKind::reference:
      return prepare_reference_engine;
  }
  PT2_CHECK(false);
  return nullptr;
}

}  // namespace pt2::run
