// For verbs that take many files: expands folders and processes files in parallel.
#ifndef PT2_TOOLS_FILES_H
#define PT2_TOOLS_FILES_H

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/result.h"
#include "tools/command.h"

namespace pt2::tools {

// Returns the named files, and for each folder the files below it with one of the endings, sorted
// by name. Skips links to folders, and files that the kernel generates (/proc); warns of unreadable
// folders. A file that is named itself is not listed again for its folder. Error `argument` if a
// folder has no such files. Keeps nonexistent names, so that opening them reports the error.
Result<std::vector<std::string>> list_files(std::span<const std::string> names,
                                            std::span<const std::string_view> endings,
                                            Environment& environment);
// Files of exported programs.
inline constexpr std::string_view kProgramEndings[] = {".pt2"};

// Calls `work(i)` for all i below `count`, in several threads if there are several files. Shows the
// progress in a line of `err` on a terminal. Throws what `work` throws, after the last thread
// ended.
void for_each_file(size_t count, Environment& environment, const std::function<void(size_t)>& work);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_FILES_H
