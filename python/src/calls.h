// Code shared by Python's Model and Session: converts Python's arguments to inputs, runs a call
// without the interpreter's lock, and converts results to the structure that the Python function
// returned.
#ifndef PT2_PYTHON_CALLS_H
#define PT2_PYTHON_CALLS_H

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "pt2/model.h"
#include "trees.h"

namespace pt2::python {

// Ends a call early: at a deadline, or on Ctrl-C, which calls that may be long check periodically.
// Python delivers Ctrl-C only on its main thread.
class EarlyEnd {
 public:
  EarlyEnd(bool may_be_long, std::optional<double> timeout);  // in seconds
  EarlyEnd(const EarlyEnd&) = delete;
  EarlyEnd& operator=(const EarlyEnd&) = delete;
  const CallOptions& options() const { return options_; }
  // To be called after the call: raises KeyboardInterrupt, or the exception of a signal handler.
  void raise_interrupt() const {
    if (interrupted_) nb::raise_python_error();
  }

 private:
  // Asks Python periodically; stays true after the first interrupt.
  bool is_interrupted();

  CallOptions options_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  bool interrupted_ = false;
};

// During its lifetime, keeps the last exception that a kernel or observer raises on this thread. It
// becomes the cause of the error with which their call ends.
class Raised {
 public:
  Raised() : outer_(current_) { current_ = this; }
  ~Raised() { current_ = outer_; }
  Raised(const Raised&) = delete;
  Raised& operator=(const Raised&) = delete;
  static void keep(const nb::python_error& error) {
    if (current_ != nullptr) current_->exception_ = nb::borrow(error.value());
  }
  nb::handle exception() const { return exception_; }

 private:
  static thread_local Raised* current_;

  Raised* outer_;  // of the call whose kernel or observer makes this call
  nb::object exception_;
};

// Returns the result of body(), which runs without the interpreter's lock; raises its error.
template <class F>
auto call_released(const EarlyEnd& end, const F& body) {
  const Raised raised;
  std::optional<decltype(body())> result;
  {
    const nb::gil_scoped_release release;
    result.emplace(body());
  }
  end.raise_interrupt();
  return unwrap(*std::move(result), raised.exception());
}

class Callable {
 public:
  explicit Callable(Model model);

  const Model& model() const { return model_; }

  // Takes arguments as Python calls forward: a tuple, and a dict or nothing.
  nb::object call(Session& session, nb::handle args, nb::handle kwargs) const;
  // Takes inputs by their flat names or in flat order; returns results by their names.
  nb::dict run(Session& session, nb::handle inputs, std::optional<double> timeout) const;
  std::vector<Value> inputs_of(nb::handle args, nb::handle kwargs, Flavour& flavour) const;

  // A session for one call, whose state is then dropped. If the program has no state, an earlier
  // session is reused.
  class Borrowed;
  // Runs without the interpreter's lock; Ctrl-C ends long calls.
  std::vector<Value> run_released(Session& session, std::vector<Value>& inputs,
                                  std::optional<double> timeout) const;

 private:
  friend class Borrowed;
  struct Argument {
    nb::object name;
    PyTree tree;
    size_t first;
  };
  bool has_constants(const Argument& argument) const;
  void add_constants(const Argument& argument, std::vector<Value>& inputs) const;
  // Raises if more arguments have no keyword than in the call that the program was exported with.
  void check_positional(size_t found) const;
  // Raises if a keyword names no argument, or one of the `positional` first ones.
  void check_keywords(const nb::dict& kwargs, size_t positional) const;

  Model model_;
  std::vector<Argument> arguments_;
  size_t positional_count_ = 0;  // the other arguments, which follow, are passed by keyword
  PyTree result_;
  std::vector<bool> is_result_;  // one for each output; false for gradients
  std::vector<nb::object> output_names_;
  bool has_state_ = false;
  bool may_be_long_ = false;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Session>> idle_;
};

class Callable::Borrowed {
 public:
  explicit Borrowed(const Callable& from);
  ~Borrowed();
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  Session& operator*() { return *session_; }

 private:
  const Callable& from_;
  std::unique_ptr<Session> session_;
};

}  // namespace pt2::python

#endif  // PT2_PYTHON_CALLS_H
