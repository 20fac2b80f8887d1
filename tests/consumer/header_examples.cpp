// Compiles the examples in comments of public headers. guides.sh writes the indented comment lines
// of each header to a file with the header's name.
#include <pt2/format/container.h>
#include <pt2/ops/verify_operators.h>
#include <pt2/pt2.h>
#include <pt2/save.h>
#include <pt2/tools/diff.h>
#include <pt2/tools/drawing.h>
#include <pt2/tools/run_diff.h>
#include <pt2/tools/scan.h>
#include <pt2/tools/weights.h>

#include <iostream>

namespace pt2 {

template <class T>
void use(const T&) {}
void refuse();
Tensor scale(const Tensor& x, double factor);

#define PT2_EXAMPLE(name, ...)     \
  Result<void> name(__VA_ARGS__) { \
    {
#define PT2_END \
  }             \
  return {};    \
  }

PT2_EXAMPLE(conversion)
#include "conversion.inc"
PT2_END

PT2_EXAMPLE(generation)
#include "decoder.inc"
PT2_END

PT2_EXAMPLE(container, std::string_view json, const Limits& limits, Diagnostics& warnings)
#include "format_container.inc"
PT2_END

PT2_EXAMPLE(early_draft, std::string_view json, const Limits& limits, Diagnostics& warnings,
            const FindDraftState& tensors)
#include "format_draft.inc"
PT2_END

PT2_EXAMPLE(schema_types, const schema::Argument& argument)
#include "format_schema.inc"
PT2_END

PT2_EXAMPLE(schema_json, std::string_view json, const Limits& limits)
#include "format_schema_json.inc"
PT2_END

PT2_EXAMPLE(building)
#include "ir_builder.inc"
PT2_END

PT2_EXAMPLE(decomposition, const Program& program, PackageContents& contents)
#include "ir_decompose.inc"
PT2_END

PT2_EXAMPLE(editing, Program& program)
#include "ir_edit_program.inc"
PT2_END

PT2_EXAMPLE(editing_graphs, Program& program)
#include "ir_graph.inc"
PT2_END

PT2_EXAMPLE(text, const Program& program)
#include "ir_program_text.inc"
PT2_END

PT2_EXAMPLE(trees, const Tensor& tensor, const Tree& outputs)
#include "ir_pytree.inc"
PT2_END

PT2_EXAMPLE(running, const Tensor& tensor, const Value& image, const Value& scores)
#include "model.inc"
PT2_END

PT2_EXAMPLE(custom_operators)
#include "ops_custom_operators.inc"
PT2_END

PT2_EXAMPLE(verifying_operators, const std::string& path)
#include "ops_verify_operators.inc"
PT2_END

PT2_EXAMPLE(opening)
#include "package.inc"
PT2_END

PT2_EXAMPLE(saving, const Package& package, const Program& changed)
#include "save.inc"
PT2_END

PT2_EXAMPLE(differences, const Package& before, const Package& after)
#include "tools_diff.inc"
PT2_END

PT2_EXAMPLE(drawing, const Program& program)
#include "tools_drawing.inc"
PT2_END

PT2_EXAMPLE(differences_of_runs, Session& before, Session& after, const std::vector<Value>& inputs)
#include "tools_run_diff.inc"
PT2_END

PT2_EXAMPLE(scanning)
#include "tools_scan.inc"
PT2_END

PT2_EXAMPLE(weights, const Package& package)
#include "tools_weights.inc"
PT2_END

}  // namespace pt2

using pt2::scale;
#include "ops_plugin.inc"
