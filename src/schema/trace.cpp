#include "schema/trace.h"

namespace pt2::schema {

Trace& TraceHolder::make() {
  if (!trace_) trace_ = new Trace;
  return *trace_;
}

void TraceHolder::copy_trace(const TraceHolder& other) { trace_ = new Trace(*other.trace_); }

void TraceHolder::destroy() { delete trace_; }

}  // namespace pt2::schema
