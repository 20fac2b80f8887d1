// Results of a run, as text, as JSON, and as tensors for a file.
#ifndef PT2_TOOLS_VALUES_VALUES_H
#define PT2_TOOLS_VALUES_VALUES_H

#include <optional>
#include <span>
#include <string>

#include "base/json.h"
#include "pt2/value.h"
#include "tools/command.h"

namespace pt2::tools {

// Returns "logits: f32[2, 10]", with all elements if there are few, else with their range and the
// first ones. Ends with a line break.
std::string value_text(const std::string& name, const Value& value, const Environment& environment);

// Returns the number of scores in a row along the last dim; 0 for tensors without floating
// elements.
size_t score_count(const Tensor& tensor);
// Returns the `count` largest scores of each row, with index and label: "logits" and a line for
// each score. Ignores labels whose number differs from that of the scores: they belong to another
// output. Empty for tensors without scores.
std::string top_text(const std::string& name, const Tensor& tensor, size_t count,
                     std::span<const std::string> labels);

// Writes the same as members "type", "dtype", "sizes" and "top", for all rows. The tensor must have
// scores.
void write_top(JsonWriter& json, const Tensor& tensor, size_t count,
               std::span<const std::string> labels);

// Writes members "type" and, for tensors, "dtype", "sizes" and "values" (row by row), else "value".
// Non-finite numbers are strings, because JSON has no such numbers.
void write_value(JsonWriter& json, const Value& value);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_VALUES_VALUES_H
