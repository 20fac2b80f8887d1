#include "pt2/error.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "base/check.h"

namespace pt2 {
namespace {

struct CodeInfo {
  std::string_view name;
  int exit_code;
  std::string_view meaning;
};

constexpr CodeInfo kCodes[] = {
#define PT2_ERROR(name, exit_code, meaning) {#name, exit_code, meaning},
#include "pt2/error.def"
};

}  // namespace

Error::Error() noexcept = default;
Error::Error(ErrorCode its_code, std::string_view text, std::string_view place)
    : code(its_code), message(text), where(place) {}
Error::Error(const Error&) = default;
Error::Error(Error&&) noexcept = default;
Error& Error::operator=(const Error&) = default;
Error& Error::operator=(Error&&) noexcept = default;
Error::~Error() = default;

std::string_view error_code_name(ErrorCode code) { return kCodes[static_cast<size_t>(code)].name; }
std::string_view error_code_meaning(ErrorCode code) {
  return kCodes[static_cast<size_t>(code)].meaning;
}
std::optional<ErrorCode> find_error_code(std::string_view name) {
  const auto found = std::ranges::find(kCodes, name, &CodeInfo::name);
  if (found == std::end(kCodes)) return std::nullopt;
  return static_cast<ErrorCode>(found - kCodes);
}
int exit_code(ErrorCode code) { return kCodes[static_cast<size_t>(code)].exit_code; }

std::string Error::text() const {
  if (where.empty()) return message;
  // "file!record:.path" is a place inside a record's text, "file!record:" the text itself.
  return where + (where.ends_with(':') ? " " : ": ") + message;
}

Error at(Error error, std::string_view step) {
  error.where.insert(0, step);
  return error;
}

Error in_file(Error error, std::string_view path) {
  if (!error.where.empty()) error.where.insert(0, "!");
  return at(std::move(error), path);
}

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr,
               "pt2: internal error: %s (%s:%d); please report it with the file that caused it\n",
               condition, file, line);
  std::abort();
}

void misused(std::string_view text) {
  std::fprintf(stderr, "pt2: wrong use: %.*s\n", static_cast<int>(text.size()), text.data());
  std::abort();
}

}  // namespace pt2
