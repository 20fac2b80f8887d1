// Tells whether the caller has given up a call (CallOptions).
#ifndef PT2_RUN_CANCELLATION_H
#define PT2_RUN_CANCELLATION_H

#include "pt2/run_options.h"

namespace pt2::run {

class Cancellation {
 public:
  // Never cancels.
  Cancellation() = default;
  explicit Cancellation(const CallOptions& options) : options_(options) {}

  // Error `cancelled` once the caller wants a stop or the deadline has passed.
  Result<void> check() const {
    if (options_.stop.stop_requested() || (options_.should_stop && options_.should_stop()))
      return Error{ErrorCode::cancelled, "the caller stopped the call", ""};
    if (options_.deadline && std::chrono::steady_clock::now() >= *options_.deadline)
      return Error{ErrorCode::cancelled, "the call did not end by its deadline", ""};
    return {};
  }

 private:
  CallOptions options_;
};

}  // namespace pt2::run

#endif  // PT2_RUN_CANCELLATION_H
