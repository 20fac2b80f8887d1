#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tools/command.h"

namespace {

bool is_terminal(int descriptor) { return isatty(descriptor) == 1; }

// https://no-color.org, and terminals that know no colours.
bool is_plain() {
  const char *no_colour = std::getenv("NO_COLOR"), *terminal = std::getenv("TERM");
  return (no_colour != nullptr && *no_colour != 0) ||
         (terminal != nullptr && std::string_view(terminal) == "dumb");
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  pt2::tools::Environment environment{.out = stdout,
                                      .err = stderr,
                                      .out_is_terminal = is_terminal(STDOUT_FILENO),
                                      .err_is_terminal = is_terminal(STDERR_FILENO),
                                      .plain = is_plain()};
  return pt2::tools::run_command(arguments, environment);
}
