// Shared by calls of sessions and decoders: their options, and one call at a time for each handle.
#ifndef PT2_C_CALLS_H
#define PT2_C_CALLS_H

#include <atomic>
#include <optional>
#include <stop_token>

#include "c/border.h"
#include "pt2/run_options.h"

struct pt2_stop {
  std::stop_source source;
};

namespace pt2::c {

Result<void> check_threads(uint32_t threads);

// Runs `body`; error `argument` if another call uses the handle, which has a flag `busy`.
template <class Handle, class F>
Result<void> with_handle(Handle* handle, const char* name, F&& body) {
  PT2_TRY_VOID(expect(handle, name));
  if (handle->busy.test_and_set(std::memory_order_acquire))
    return argument_error("the " + std::string(name) + " is used by another call");
  struct EndOfUse {
    std::atomic_flag& busy;
    ~EndOfUse() { busy.clear(std::memory_order_release); }
  } const end{handle->busy};
  return body();
}

// The options of a call, and the ways to stop it.
class Call {
 public:
  static Result<void> read(const pt2_call_options* given, Call& out);
  const CallOptions& options() const { return options_; }

 private:
  void set_deadline(std::chrono::nanoseconds timeout);
  void ask_at_steps(const pt2_call_options& options);

  struct Forward {
    std::shared_ptr<std::stop_source> source;
    void operator()() const { source->request_stop(); }
  };
  CallOptions options_;
  std::optional<std::stop_callback<Forward>> forward_;
};

}  // namespace pt2::c

#endif  // PT2_C_CALLS_H
