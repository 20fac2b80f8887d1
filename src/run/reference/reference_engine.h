// The engine that runs a program as it is written (executor.h). Other engines are compared with it.
#ifndef PT2_RUN_REFERENCE_REFERENCE_ENGINE_H
#define PT2_RUN_REFERENCE_REFERENCE_ENGINE_H

#include "run/engine.h"

namespace pt2::run {

Result<std::unique_ptr<const Engine>> prepare_reference_engine(const EngineSource& source);

}  // namespace pt2::run

#endif  // PT2_RUN_REFERENCE_REFERENCE_ENGINE_H
