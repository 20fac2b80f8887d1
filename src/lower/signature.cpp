#include "lower/signature.h"

#include <algorithm>

namespace pt2 {

void rename_results(Program& program) {
  std::vector<OutputSpec>& specs = program.signature.output_specs;
  const auto outputs = program.graph.outputs();
  for (size_t i = 0; i < std::min(specs.size(), outputs.size()); ++i)
    if (const auto* id = outputs[i].get_if<ValueId>())
      specs[i].arg.name = program.graph.value(*id).name;
}

}  // namespace pt2
