// Inputs without a file: numbers in brackets.
#ifndef PT2_TOOLS_VALUES_LITERALS_H
#define PT2_TOOLS_VALUES_LITERALS_H

#include <string_view>
#include <vector>

#include "base/json.h"
#include "pt2/model.h"
#include "pt2/result.h"
#include "pt2/value.h"

namespace pt2::tools {

// False if an integer dtype does not hold the number.
bool fits(int64_t number, Dtype dtype);

// Returns [[1, 2, 3]] as a tensor of that dtype. The messages of errors `argument` continue a
// sentence, "has rows that differ in length": for such rows, for JSON that is not an array, and for
// fractions if the dtype has none, and for numbers that the dtype does not hold.
Result<Tensor> to_tensor(Dtype dtype, const JsonValue& json);
// The same for a text: JSON, or a list as Python prints it, with nan, inf, True and False.
Result<Tensor> parse_tensor(Dtype dtype, std::string_view text);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_VALUES_LITERALS_H
