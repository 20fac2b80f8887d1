// The output of `pt2 info` for a folder of an exporter of language models.
#ifndef PT2_TOOLS_FOLDER_H
#define PT2_TOOLS_FOLDER_H

#include <string>

#include "tools/command.h"
#include "tools/source.h"

namespace pt2::tools {

// Returns the path of the program that `source` chooses in its folder. Error `argument` if no
// program has that name, or if `source` names none.
Result<std::string> program_in_folder(const Source& source);
// Shows programs, the roles of their inputs and outputs, caches, shared weights and settings.
Result<int> show_folder(const Source& source, bool json, Environment& environment);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_FOLDER_H
