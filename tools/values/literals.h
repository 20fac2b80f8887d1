// Inputs without a file: numbers in brackets, and numbers drawn at random.
#ifndef PT2_TOOLS_VALUES_LITERALS_H
#define PT2_TOOLS_VALUES_LITERALS_H

#include <string_view>
#include <vector>

#include "base/json.h"
#include "pt2/model.h"
#include "pt2/result.h"
#include "pt2/value.h"

namespace pt2::tools {

// [[1, 2, 3]] as a tensor of that dtype. Errors `argument`, which say of it that it "has rows that
// differ in length": for that, for what is no array, and for fractions where the dtype has none.
Result<Tensor> to_tensor(Dtype dtype, const JsonValue& json);
// The same of a text, JSON with NaN and Infinity.
Result<Tensor> parse_tensor(Dtype dtype, std::string_view text);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_VALUES_LITERALS_H
