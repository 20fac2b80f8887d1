// The frame of the command `pt2`: the table of verbs, output streams and exit status. Exit codes:
// docs/design.md, section 5.
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

// Results go to `out`, everything else to `err`.
struct Environment {
  std::FILE* out = nullptr;
  std::FILE* err = nullptr;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool plain = false;  // no colours, even on a terminal
};

// Returns the standard streams of this process.
Environment standard_environment();

extern const std::string_view kVersion;
inline constexpr std::string_view kExitCodes =
    "0 ok, 1 findings or differences, 2 usage, 3 broken file, 4 unsupported, 5 limit hit or time "
    "up";

enum ExitCode : int { kOk = 0, kDifference = 1, kUsage = 2 };

// Runs a verb after its arguments are parsed. Returns its exit code, or the error that ended it.
using Action = std::function<Result<int>(Environment&)>;

// The purpose of a verb; the help groups verbs by it.
enum class Job : uint8_t { look, check, run, change, convert, shell };

struct Verb {
  std::string_view name;
  Job job;
  std::string_view summary;   // one line
  std::string_view examples;  // lines "pt2 … # …"
  // Declares arguments and options; the action holds the parsed values.
  Action (*setup)(CommandLine& line);
};

// Returns the verbs in the order of the help: by job.
std::span<const Verb> verbs();
std::string_view job_name(Job job);  // a heading

// Returns the verb that was probably meant by a word that is none, as told by another tool's word
// or a similar one; "" if there is none.
std::string meant_verb(std::string_view typed);

// Runs "pt2 ARGUMENTS..." and returns the exit code.
int run_command(std::span<const std::string> arguments, Environment& environment);

void print(std::FILE* file, std::string_view text);
// Error `argument` if `output` is one of the input files ("-" is standard input). For output in
// another format, which would destroy the input file.
Result<void> check_not_read(const std::string& output, const std::vector<std::string>& read);
// Writes the whole file, or leaves the old one unchanged. Errors include those of check_not_read.
Result<void> write_file(const std::string& path, std::span<const std::byte> bytes,
                        const std::vector<std::string>& read);
// Writes the text to the file `output` like write_file, or prints it if `output` is empty or "-".
// Programs get the exact bytes, terminals whole lines.
Result<void> write_text(Environment& environment, const std::string& output, std::string text,
                        const std::vector<std::string>& read);
// Prints what a file holds, as it is. Error `argument` if standard output is a terminal and the
// content could control it.
Result<void> print_content(Environment& environment, std::string_view content);
// Prints each warning on its own line of `err`, "pt2: warning: V201 …".
void print_warnings(Environment& environment, const Diagnostics& warnings);
void print_warning(Environment& environment, std::string_view text);
// Returns how to raise the limits that the message names, "--limit max_entries=N raises it, …"; ""
// if raising a limit does not help.
std::string limit_remedy(ErrorCode code, std::string_view message);
// Returns an error of the caller.
inline Error usage_error(std::string message) {
  return {ErrorCode::argument, std::move(message), ""};
}
// Returns "malformed: model.pt2: …", safe to print: text from a file cannot control the terminal.
std::string error_text(const Error& error);
// Prints "pt2: malformed: model.pt2: …" and limit_remedy(), for a verb that continues afterwards.
void print_error(Environment& environment, const Error& error);
// Prints an error to standard output, as --json has it. Done for errors that a verb returns.
void print_json_error(Environment& environment, const Error& error);

enum class Colour : uint8_t { red, green, yellow, bold };
// Returns `text` in that colour if results go to a terminal, plain text otherwise.
std::string coloured(const Environment& environment, Colour colour, std::string_view text);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_COMMAND_H
