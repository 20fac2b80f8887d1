#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tools/command.h"

namespace {

bool is_terminal(int descriptor) { return isatty(descriptor) == 1; }

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  pt2::tools::Environment environment{.out = stdout,
                                      .err = stderr,
                                      .out_is_terminal = is_terminal(STDOUT_FILENO),
                                      .err_is_terminal = is_terminal(STDERR_FILENO)};
  return pt2::tools::run_command(arguments, environment);
}
