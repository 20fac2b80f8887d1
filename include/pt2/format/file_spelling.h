// What a file says beyond its values, kept so that it can be written back.
#ifndef PT2_FORMAT_FILE_SPELLING_H
#define PT2_FORMAT_FILE_SPELLING_H

#include <utility>

namespace pt2::schema {

// What a file said beyond the values: members nobody knows, an unusual order of keys, an unusual
// spelling of a number. Null in every file that PyTorch wrote; copies with its struct, so it
// survives edits around it; comparisons ignore it.
class Trace;
class TraceHolder {
 public:
  TraceHolder() = default;
  TraceHolder(const TraceHolder& other) { copy(other); }
  TraceHolder(TraceHolder&& other) noexcept : trace_(std::exchange(other.trace_, nullptr)) {}
  TraceHolder& operator=(TraceHolder other) noexcept {
    std::swap(trace_, other.trace_);
    return *this;
  }
  ~TraceHolder() {
    if (trace_) destroy();
  }
  const Trace* get() const { return trace_; }
  Trace& make();

 private:
  void copy(const TraceHolder& other) {
    if (other.trace_) copy_trace(other);
  }
  void copy_trace(const TraceHolder& other);
  void destroy();

  Trace* trace_ = nullptr;
};

}  // namespace pt2::schema

#endif  // PT2_FORMAT_FILE_SPELLING_H
