// Errors: what went wrong and where. Failures are values (result.h). The code of an error tells the
// caller how to react; it does not identify the function that failed.
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

// `where` is the place of the error as a path for people. `at` builds it from the inside out:
// `model.pt2!models/model.json:.graph_module.graph.nodes[12].inputs[0]`.
struct Error {
  // These are defined in error.cpp to keep callers small: most lines pass errors on, and moving or
  // destroying two strings inline takes a page of code.
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

  // Returns "where: message", or only the message if `where` is empty.
  std::string text() const;
};

std::string_view error_code_name(ErrorCode code);
std::string_view error_code_meaning(ErrorCode code);
std::optional<ErrorCode> find_error_code(std::string_view name);
// Returns the exit code of the `pt2` command for this kind of failure (docs/design.md, section 5).
int exit_code(ErrorCode code);

// Returns the error with `step` in front of `where`. A caller adds the step that leads to the place
// of the callee's error: ".nodes", "[3]", "model.pt2!".
Error at(Error error, std::string_view step);
// Returns the error with the file in front of `where`: "model.npz!x.npy", or "model.npz" if `where`
// is empty.
Error in_file(Error error, std::string_view path);

}  // namespace pt2

#endif  // PT2_ERROR_H
