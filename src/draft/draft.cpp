#include "pt2/format/draft.h"

#include "pt2/format/schema_json.h"

namespace pt2 {

Result<draft::GraphModule> read_draft(std::string_view json, const Limits& limits,
                                      Diagnostics& warnings) {
  return schema::decode<draft::GraphModule>(json, limits, warnings);
}

std::string write_draft(const draft::GraphModule& module) { return schema::encode(module); }

}  // namespace pt2
