// What `pt2 info` says of a folder that an exporter of language models wrote.
#ifndef PT2_TOOLS_FOLDER_H
#define PT2_TOOLS_FOLDER_H

#include <string>

#include "tools/command.h"
#include "tools/source.h"

namespace pt2::tools {

// The path of the program that `source` chooses in its folder. Error `argument` when there is none
// of that name, or it names none.
Result<std::string> program_in_folder(const Source& source);
// Programs, what their inputs and outputs are for, caches, weights in common, settings.
Result<int> show_folder(const Source& source, bool json, Environment& environment);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_FOLDER_H
