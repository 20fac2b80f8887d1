// Inputs without a file: numbers in brackets, and numbers drawn at random.
#ifndef PT2_TOOLS_VALUES_LITERALS_H
#define PT2_TOOLS_VALUES_LITERALS_H

#include <optional>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "pt2/model.h"
#include "pt2/value.h"

namespace pt2::tools {

// [[1, 2, 3]] as a tensor of that dtype; nothing for what is no array, rows that differ in length,
// and fractions where the dtype has none.
std::optional<Tensor> to_tensor(Dtype dtype, const JsonValue& json);
// The same of a text, JSON with NaN and Infinity.
std::optional<Tensor> parse_tensor(Dtype dtype, std::string_view text);

// Numbers between -1 and 1, integers 0 and 1; symbolic sizes as they were while exporting. Nothing
// for what cannot be made up (objects).
std::optional<Value> random_value(const ModelValue& input, uint64_t seed);
// Error `argument` for an input of that kind.
Result<std::vector<Value>> random_inputs(const Model& model, uint64_t seed);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_VALUES_LITERALS_H
