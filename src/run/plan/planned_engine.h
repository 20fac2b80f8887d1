// The engine that runs a program by a plan (plan.h). If a caller observes the values of every node,
// the reference executor runs the program.
#ifndef PT2_RUN_PLAN_PLANNED_ENGINE_H
#define PT2_RUN_PLAN_PLANNED_ENGINE_H

#include "run/engine.h"

namespace pt2::run {

Result<std::unique_ptr<const Engine>> prepare_planned_engine(const EngineSource& source);

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_PLANNED_ENGINE_H
