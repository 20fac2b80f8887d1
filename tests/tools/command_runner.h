// Runs verbs of the command in the test's own process, with the test data as the working folder.
#ifndef PT2_TESTS_TOOLS_COMMAND_RUNNER_H
#define PT2_TESTS_TOOLS_COMMAND_RUNNER_H

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "tools/command.h"

namespace pt2::test {

struct CommandResult {
  int exit_code = 0;
  std::string out;
  std::string err;
};

inline std::string stream_text(std::FILE* file) {
  std::string text;
  std::rewind(file);
  char buffer[4096];
  while (const size_t count = std::fread(buffer, 1, sizeof buffer, file))
    text.append(buffer, count);
  std::fclose(file);
  return text;
}

// Redirects standard input to a file during the object's lifetime.
class InputFrom {
 public:
  explicit InputFrom(const std::string& path) {
    if (path.empty()) return;
    saved_ = dup(STDIN_FILENO);
    const int file = open(path.c_str(), O_RDONLY);
    EXPECT_GE(file, 0) << path;
    dup2(file, STDIN_FILENO);
    close(file);
  }
  ~InputFrom() {
    if (saved_ < 0) return;
    dup2(saved_, STDIN_FILENO);
    close(saved_);
  }
  InputFrom(const InputFrom&) = delete;
  InputFrom& operator=(const InputFrom&) = delete;

 private:
  int saved_ = -1;
};

// Runs the command. `arguments` exclude "pt2".
inline CommandResult run_pt2(const std::vector<std::string>& arguments,
                             const std::string& input = "", bool out_is_terminal = false) {
  std::filesystem::current_path(PT2_TEST_DATA);
  const InputFrom redirected(input);
  tools::Environment environment{.out = std::tmpfile(),
                                 .err = std::tmpfile(),
                                 .out_is_terminal = out_is_terminal,
                                 .err_is_terminal = false};
  CommandResult result;
  result.exit_code = tools::run_command(arguments, environment);
  result.out = stream_text(environment.out);
  result.err = stream_text(environment.err);
  return result;
}

}  // namespace pt2::test

#endif  // PT2_TESTS_TOOLS_COMMAND_RUNNER_H
