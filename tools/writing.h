// Verbs that write a changed file: what they check first, and what they say afterwards.
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
// The options -o, --check and --json.
// -o of a verb that writes a .pt2; "-" becomes the path of standard output.
Option add_written_option(CommandLine& line, std::string& output,
                          const std::string& text =
                              "the .pt2 file to write; may be the one that is "
                              "read;\n- is standard output");
// Error `argument` where standard output is a terminal, which would show the bytes of a file.
Result<void> check_takes_bytes(const Environment& environment);
// Errors: those of save_package; `argument` where a terminal would show the bytes, or the name is
// that of another format.
Result<void> save_written(const PackageContents& contents, const std::string& output,
                          const Environment& environment);
void add_writing_options(CommandLine& line, Writing& writing);
// An option of a verb with several actions, and those that it is for.
struct ActionOption {
  bool is_given = false;
  std::string_view name;
  std::vector<std::string_view> actions;
};
// Error `argument` for one that is given and is not for `action`, which would do nothing with it.
Result<void> check_options_of(std::string_view action, const std::vector<ActionOption>& options);

// 0 for what has none, as a pipe.
uint64_t size_of(const std::string& path);
// /dev/stdout, for example: then a report would end up in the archive.
bool is_written_to(const std::string& path, std::FILE* stream);

// What `written` breaks that `package` does not: a fault of this library, so that nothing is
// written. Findings that were there before are the user's to know.
Result<std::vector<Diagnostic>> new_findings(const Package& package, const SavedProgram& written,
                                             const Limits& limits);
// True where no program of the contents breaks anything new; what does is said of `program_name`.
Result<bool> is_sound(const Package& package, const PackageContents& contents, const Limits& limits,
                      std::string_view program_name, Environment& environment);

// Writes the contents, made of `package` by the changes of `lines`, and says so. Nothing is written
// where a program breaks a rule that it did not break before (exit 3), or, with --check, gives
// other results than before for its sample inputs, or for random ones (exit 1).
Result<int> write_changed(const Writing& writing, const Package& package,
                          const PackageContents& contents, const std::vector<std::string>& lines,
                          Environment& environment);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_WRITING_H
