// What went wrong and where, for the caller who has to react. Failures are values (result.h); a
// code says what the caller can do about it, never which function failed.
#ifndef PT2_ERROR_H
#define PT2_ERROR_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pt2 {

enum class ErrorCode : uint8_t {
#define PT2_ERROR(name, exit_code, meaning) name,
#include "pt2/error.def"
};

// `where` is a path that a person can follow, built from the inside out by `at`:
// `model.pt2!models/model.json:.graph_module.graph.nodes[12].inputs[0]`.
struct Error {
  // Compiled once, in error.cpp: an error is passed on in every second line, and two texts are a
  // page of code wherever they are moved or destroyed.
  Error() noexcept;
  Error(ErrorCode code, std::string_view message, std::string_view where = {});
  Error(const Error&);
  Error(Error&&) noexcept;
  Error& operator=(const Error&);
  Error& operator=(Error&&) noexcept;
  ~Error();

  ErrorCode code = ErrorCode::invalid;
  std::string message;
  std::string where;

  // "where: message", or the message alone.
  std::string text() const;
};

std::string_view error_code_name(ErrorCode code);
std::string_view error_code_meaning(ErrorCode code);
std::optional<ErrorCode> find_error_code(std::string_view name);
// The exit code of the `pt2` command for this kind of failure (docs/design.md, section 5).
int exit_code(ErrorCode code);

// Adds a step in front of `where`, on the way up. `step` is text such as ".nodes", "[3]" or
// "model.pt2!".
Error at(Error error, std::string_view step);
// Puts the file in front of `where`: "model.npz!x.npy", or "model.npz" alone.
Error in_file(Error error, std::string_view path);

}  // namespace pt2

#endif  // PT2_ERROR_H
