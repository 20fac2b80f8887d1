#include <string>
#include <vector>

#include "tools/command.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  pt2::tools::Environment environment = pt2::tools::standard_environment();
  return pt2::tools::run_command(arguments, environment);
}
