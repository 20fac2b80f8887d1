#include "base/platform.h"

#if defined(_WIN32)
#include "base/platform/windows_api.h"
#else
#include <unistd.h>
#endif

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

#if defined(__APPLE__)
extern "C" double lgamma_r(double, int*);  // math.h declares it only with other extensions
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
  // strtod accepts leading spaces, '+' and "0x", and uses the decimal point of the user's locale.
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
  return std::lgamma(x);  // sets no global variable there
#else
  int sign = 0;
  return ::lgamma_r(x, &sign);
#endif
}

#if defined(_WIN32)
double bessel_j0(double x) { return _j0(x); }
double bessel_j1(double x) { return _j1(x); }
double bessel_y0(double x) { return _y0(x); }
double bessel_y1(double x) { return _y1(x); }

int64_t process_id() { return GetCurrentProcessId(); }

void prepare_standard_streams() {
  for (const int stream : {0, 1, 2}) _setmode(stream, _O_BINARY);
  SetConsoleOutputCP(CP_UTF8);
}
#else
double bessel_j0(double x) { return ::j0(x); }
double bessel_j1(double x) { return ::j1(x); }
double bessel_y0(double x) { return ::y0(x); }
double bessel_y1(double x) { return ::y1(x); }

int64_t process_id() { return getpid(); }

void prepare_standard_streams() {}
#endif

}  // namespace pt2
