#include "pt2/format/stored_json.h"

#include "pt2/format/draft.h"

namespace pt2 {

Result<std::string> stored_json(const Package& package, std::string_view model,
                                schema::Print style) {
  const auto encoded = [&]<class T>(const T& document) {
    return schema::encode_value(schema::type_of<T>(), &document, style);
  };
  if (const draft::GraphModule* module = package.draft(model)) return encoded(*module);
  // A container is one document; to get one of its programs, name it.
  if (model.empty()) {
    PT2_TRY(const auto container, package.container());
    if (container) return encoded(*container);
  }
  PT2_TRY(const schema::ExportedProgram program, package.schema(model));
  return encoded(program);
}

}  // namespace pt2
