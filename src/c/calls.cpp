#include "c/calls.h"

#include <chrono>

namespace pt2::c {

Result<void> check_threads(uint32_t threads) {
  constexpr uint32_t kMaxThreads = 1024;
  if (threads <= kMaxThreads) return {};
  return argument_error("found " + std::to_string(threads) + " threads, at most " +
                        std::to_string(kMaxThreads));
}

Result<void> Call::read(const pt2_call_options* given, Call& out) {
  if (given == nullptr) return {};
  PT2_TRY(const pt2_call_options options, read_options(given));
  if (options.timeout_ns < 0) return argument_error("found a timeout below zero");
  if (options.stop != nullptr) out.options_.stop = options.stop->source.get_token();
  if (options.timeout_ns > 0) out.set_deadline(std::chrono::nanoseconds(options.timeout_ns));
  if (options.step != nullptr) out.ask_at_steps(options);
  return {};
}

void Call::set_deadline(std::chrono::nanoseconds timeout) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point now = Clock::now();
  options_.deadline =
      timeout < Clock::time_point::max() - now ? now + timeout : Clock::time_point::max();
}

void Call::ask_at_steps(const pt2_call_options& options) {
  // Both the caller's stop handle and the step function request this stop.
  auto source = std::make_shared<std::stop_source>();
  if (options.stop != nullptr) forward_.emplace(options.stop->source.get_token(), Forward{source});
  options_.stop = source->get_token();
  options_.on_step = [source, options, done = uint64_t{0}](const StepTime&) mutable {
    if (options.step(++done, options.user) != 0) source->request_stop();
  };
}

}  // namespace pt2::c
