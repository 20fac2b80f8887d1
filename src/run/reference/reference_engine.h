// The engine that runs a program as it is written (executor.h): the referee of the others.
#pragma once

#include "run/engine.h"

namespace pt2::run {

Result<std::unique_ptr<const Engine>> prepare_reference_engine(const EngineSource& source);

}  // namespace pt2::run
