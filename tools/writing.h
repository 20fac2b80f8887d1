// For verbs that write a changed file: checks before writing, and the report afterwards.
#ifndef PT2_TOOLS_WRITING_H
#define PT2_TOOLS_WRITING_H

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/package.h"
#include "pt2/save.h"
#include "tools/command.h"
#include "tools/source.h"

namespace pt2::tools {

struct Writing {
  Source source;
  std::string output;
  bool check = false;
  bool json = false;
};
// The path of standard output, for which "-" stands.
inline constexpr std::string_view kOutputDevice = "/dev/stdout";
// Returns the name of the output for reports: "standard output" for kOutputDevice.
std::string shown_output(const std::string& output);
// Adds option -o of a verb that writes a .pt2; "-" becomes kOutputDevice.
Option add_written_option(CommandLine& line, std::string& output,
                          const std::string& text =
                              "the .pt2 file to write; may be the one that is "
                              "read;\n- is standard output");
// Error `argument` if `output` is standard output ("-"): the ending of a file's name says in which
// format tensors are written. `option` is the name of the option.
Result<void> check_tensor_file(std::string_view option, const std::string& output);
// Error `argument` if standard output is a terminal, which would show the bytes of a file.
Result<void> check_takes_bytes(const Environment& environment);
// Returns the number of bytes written. Errors: those of save_package; `argument` if a terminal
// would show the bytes, or if the file name is that of another format.
Result<uint64_t> save_written(const PackageContents& contents, const std::string& output,
                              const Environment& environment);
// Adds the options -o, --check and --json.
void add_writing_options(CommandLine& line, Writing& writing);
// An option of a verb with several actions, and the actions that use it.
struct ActionOption {
  bool is_given = false;
  std::string_view name;
  std::vector<std::string_view> actions;
};
// Error `argument` for a given option that `action` would ignore.
Result<void> check_options_of(std::string_view action, const std::vector<ActionOption>& options);

// Error `unsupported` for an early draft or a container: their programs are not saved one by one.
Result<void> check_can_change(const Package& package, const std::string& file);

// Returns 0 for a file without a size, such as a pipe.
uint64_t size_of(const std::string& path);
// True for /dev/stdout, for example: then a report would end up in the archive.
bool is_written_to(const std::string& path, std::FILE* stream);

// Returns the rules that `written` breaks and `package` does not. These are faults of libpt2, so
// nothing must be written. Earlier findings are the user's responsibility.
Result<std::vector<Diagnostic>> new_findings(const Package& package, const SavedProgram& written,
                                             const Limits& limits);
// Returns the fields that only a newer schema has and that `written` lost: "Node.colour". A program
// keeps those of its nodes, arguments, tensors, graphs, ranges and calls of modules, but not those
// of smaller records, such as the specs of its signature, nor those of what a change removes.
Result<std::vector<std::string>> lost_fields(const Package& package, const SavedProgram& written,
                                             const Limits& limits);
// True if no program of the contents has new findings, and warns of lost fields; otherwise reports
// them for `program_name`.
Result<bool> is_sound(const Package& package, const PackageContents& contents, const Limits& limits,
                      std::string_view program_name, Environment& environment);

// Writes the contents, which `package` became by the changes in `lines`, and reports the changes.
// Writes nothing if a program breaks a new rule (exit 3). With --check, also writes nothing if
// results change for the sample inputs, or for random inputs (exit 1).
Result<int> write_changed(const Writing& writing, const Package& package,
                          const PackageContents& contents, const std::vector<std::string>& lines,
                          Environment& environment);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_WRITING_H
