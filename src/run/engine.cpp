#include "run/engine.h"

#include "base/check.h"
#include "run/plan/planned_engine.h"
#include "run/reference/reference_engine.h"

namespace pt2::run {

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
