// PT2_CHECK: our own invariants. A failure is a bug of this library, so it stops the process, in
// release builds too.
#ifndef PT2_BASE_CHECK_H
#define PT2_BASE_CHECK_H

namespace pt2 {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}  // namespace pt2

#define PT2_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::pt2::check_failed(#condition, __FILE__, __LINE__))

#endif  // PT2_BASE_CHECK_H
