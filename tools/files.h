// Verbs that take many files: folders opened, files done side by side.
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

// The files named, and for each folder the files below it that have one of the endings, in the
// order of their names. Links to folders, and what the kernel shows as files (/proc), are left out;
// folders that cannot be read are a warning. Error `argument` when a folder has none; what does not
// exist is kept, so that whoever opens it says so.
Result<std::vector<std::string>> list_files(std::span<const std::string> names,
                                            std::span<const std::string_view> endings,
                                            Environment& environment);
// Files of exported programs.
inline constexpr std::string_view kProgramEndings[] = {".pt2"};

// Calls `work(i)` for all i below `count`, in several threads where there are several files. On a
// terminal a line of `err` says how far it is.
void for_each_file(size_t count, Environment& environment, const std::function<void(size_t)>& work);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_FILES_H
