// PT2_CHECK: our own invariants. A failure is a bug of this library, so it stops the process, in
// release builds too.
#pragma once

namespace pt2 {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}  // namespace pt2

#define PT2_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::pt2::check_failed(#condition, __FILE__, __LINE__))
