// PT2_CHECK checks invariants of this library. A failure is a bug here, so it stops the process, in
// release builds too.
#ifndef PT2_BASE_CHECK_H
#define PT2_BASE_CHECK_H

#include <string_view>

namespace pt2 {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
// Reports a mistake of a program that uses the library, in a function that cannot return an error.
[[noreturn]] void misused(std::string_view text);
}  // namespace pt2

#define PT2_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::pt2::check_failed(#condition, __FILE__, __LINE__))

#endif  // PT2_BASE_CHECK_H
