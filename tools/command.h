// The frame of the command `pt2`: a table of verbs, where their output goes, what their exit status
// is. Exit codes: docs/design.md, section 5.
#ifndef PT2_TOOLS_COMMAND_H
#define PT2_TOOLS_COMMAND_H

#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pt2/diagnostics.h"
#include "pt2/result.h"
#include "tools/command_line.h"

namespace pt2::tools {

// Answers go to `out`, everything else to `err`.
struct Environment {
  std::FILE* out = nullptr;
  std::FILE* err = nullptr;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool plain = false;  // no colours, also on a terminal
};

// The standard streams of this process.
Environment standard_environment();

extern const std::string_view kVersion;
inline constexpr std::string_view kExitCodes =
    "0 ok, 1 findings or differences, 2 usage, 3 broken file, 4 unsupported, 5 limit hit or time "
    "up";

enum ExitCode : int { kOk = 0, kDifference = 1, kUsage = 2 };

// What a verb does once its arguments are parsed: its exit code, or the error that ended it.
using Action = std::function<Result<int>(Environment&)>;

// What somebody wants of a file; the help lists verbs by it.
enum class Job : uint8_t { look, check, run, change, convert, shell };

struct Verb {
  std::string_view name;
  Job job;
  std::string_view summary;   // one line
  std::string_view examples;  // lines "pt2 … # …"
  // Declares arguments and options; the action keeps what they are parsed into.
  Action (*setup)(CommandLine& line);
};

// In the order of the help: by job.
std::span<const Verb> verbs();
std::string_view job_name(Job job);  // a heading

// Runs "pt2 ARGUMENTS..."; the exit code.
int run_command(std::span<const std::string> arguments, Environment& environment);

void print(std::FILE* file, std::string_view text);
// Error `argument` where `output` is one of the files that are read ("-" is standard input): for
// what is written in another format, which would be all that is left of that file.
Result<void> check_not_read(const std::string& output, const std::vector<std::string>& read);
// Writes the file whole, or leaves what was there. Errors: those of check_not_read, too.
Result<void> write_file(const std::string& path, std::span<const std::byte> bytes,
                        const std::vector<std::string>& read);
// Writes the text to that file, as write_file does, or prints it if `output` is empty. Programs get
// the exact bytes, people whole lines.
Result<void> write_text(Environment& environment, const std::string& output, std::string text,
                        const std::vector<std::string>& read);
// Each on its own line of `err`, "pt2: warning: V201 …".
void print_warnings(Environment& environment, const Diagnostics& warnings);
void print_warning(Environment& environment, std::string_view text);
// How to raise the limits that the message names, "--limit max_entries=N raises it, …"; "" where
// that is no remedy.
std::string limit_remedy(ErrorCode code, std::string_view message);
// The caller's mistake.
inline Error usage_error(std::string message) {
  return {ErrorCode::argument, std::move(message), ""};
}
// "malformed: model.pt2: …", for people: what a file says cannot write to their terminal.
std::string error_text(const Error& error);
// "pt2: malformed: model.pt2: …", for a verb that goes on after it; and that remedy.
void print_error(Environment& environment, const Error& error);

enum class Colour : uint8_t { red, green, yellow, bold };
// `text` in that colour where answers go to a terminal, plain otherwise.
std::string coloured(const Environment& environment, Colour colour, std::string_view text);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_COMMAND_H
