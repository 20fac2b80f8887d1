// Keeps the details of a file's JSON that values do not represent, so that they can be written
// back.
#ifndef PT2_FORMAT_FILE_SPELLING_H
#define PT2_FORMAT_FILE_SPELLING_H

#include <utility>

namespace pt2::schema {

// The details of a struct's JSON that its values do not represent: unknown members, an unusual
// order of keys, an unusual spelling of a number. Null for every file that PyTorch wrote. A holder
// is copied with its struct, so it survives edits of other structs. Comparisons ignore it.
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
