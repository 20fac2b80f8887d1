#include "pt2/format/stored_json.h"

#include "package/read_package.h"
#include "pt2/format/container.h"
#include "pt2/format/draft.h"

namespace pt2 {

Result<std::string> stored_json(const Package& package, std::string_view model,
                                schema::Print style) {
  const auto encoded = [&]<class T>(const T& document) {
    return schema::encode_value(schema::type_of<T>(), &document, style);
  };
  if (const draft::GraphModule* module = package.draft(model)) return encoded(*module);
  // Without a model name a container is encoded as one document; a name selects one of its
  // programs.
  if (model.empty()) {
    PT2_TRY(const auto container, package.container());
    if (container) return std::visit(encoded, *container);
  }
  if (style == schema::Print::as_read) {
    PT2_TRY(const std::string name, package.model_name(model));
    if (const auto pieces = open_pieces(package, name))
      if (auto text = schema::encode_in_pieces(*pieces->reader)) return *std::move(text);
  }
  PT2_TRY(const schema::ExportedProgram program, package.schema(model));
  return encoded(program);
}

}  // namespace pt2
