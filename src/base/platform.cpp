#include "base/platform.h"

#include <sys/stat.h>

#include <charconv>
#include <cmath>
#include <version>

#if !defined(__cpp_lib_to_chars)
#include <cerrno>
#include <clocale>
#include <cstdlib>
#include <string>
#if defined(__APPLE__)
#include <xlocale.h>
#endif
#endif

namespace pt2 {

#if defined(__cpp_lib_to_chars)
std::optional<double> decimal_value(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}
#else
std::optional<double> decimal_value(std::string_view text) {
  // strtod takes spaces, '+' and "0x" in front, and the decimal point of the user's language.
  const std::string_view unsigned_text = text.substr(text.starts_with('-') ? 1 : 0);
  const char first = unsigned_text.empty() ? ' ' : unsigned_text.front();
  const bool is_plain = (first >= '0' && first <= '9') || first == '.' || first == 'i' ||
                        first == 'I' || first == 'n' || first == 'N';
  if (!is_plain || text.find_first_of("xX(") != text.npos) return std::nullopt;
#if defined(_WIN32)
  static const _locale_t plain = _create_locale(LC_NUMERIC, "C");
#else
  static const locale_t plain = newlocale(LC_NUMERIC_MASK, "C", nullptr);
#endif
  const std::string copy(text);
  char* end = nullptr;
  errno = 0;
#if defined(_WIN32)
  const double value = _strtod_l(copy.c_str(), &end, plain);
#else
  const double value = strtod_l(copy.c_str(), &end, plain);
#endif
  if (end != copy.c_str() + copy.size()) return std::nullopt;
  const bool is_beyond = errno == ERANGE && (std::isinf(value) || value == 0);
  return is_beyond ? std::nullopt : std::optional(value);
}
#endif

double log_gamma(double x) {
  if (std::isinf(x)) return HUGE_VAL;
#if defined(_WIN32)
  return std::lgamma(x);  // which has no global variable there
#else
  int sign = 0;
  return ::lgamma_r(x, &sign);
#endif
}

TimeOfChange time_of_change(const struct stat& status) {
#if defined(__APPLE__)
  return {status.st_mtimespec.tv_sec, status.st_mtimespec.tv_nsec};
#elif defined(_WIN32)
  return {status.st_mtime, 0};
#else
  return {status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
#endif
}

}  // namespace pt2
