#include "tools/plugins.h"

#include "pt2/ops/plugin.h"

namespace pt2::tools {

Option add_ops_option(CommandLine& line, std::vector<std::string>& libraries) {
  return line
      .add_option("--ops", libraries,
                  "a library of custom operators (docs/custom-operators.md); its code\n"
                  "runs here, so load none that you do not trust")
      .type_name("LIBRARY")
      .one_at_a_time();
}

Result<CustomOperators> load_operators(std::span<const std::string> libraries) {
  CustomOperators operators;
  for (const std::string& library : libraries) PT2_TRY_VOID(load_plugin(library, operators));
  return operators;
}

}  // namespace pt2::tools
