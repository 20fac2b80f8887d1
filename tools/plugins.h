// Libraries of custom operators. Only the command line can name a library; a file cannot.
#ifndef PT2_TOOLS_PLUGINS_H
#define PT2_TOOLS_PLUGINS_H

#include <span>
#include <string>
#include <vector>

#include "pt2/ops/custom_operators.h"
#include "tools/command.h"

namespace pt2::tools {

// Adds the option --ops.
Option add_ops_option(CommandLine& line, std::vector<std::string>& libraries);
// Errors: those of load_plugin.
Result<CustomOperators> load_operators(std::span<const std::string> libraries);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_PLUGINS_H
