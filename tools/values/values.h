// Results of a run: for people, as JSON, as tensors for a file.
#ifndef PT2_TOOLS_VALUES_VALUES_H
#define PT2_TOOLS_VALUES_VALUES_H

#include <optional>
#include <span>
#include <string>

#include "base/json.h"
#include "pt2/value.h"
#include "tools/command.h"

namespace pt2::tools {

// "logits: f32[2, 10]" and the elements where there are few, else their range and the first ones.
// Ends in a line break.
std::string value_text(const std::string& name, const Value& value, const Environment& environment);

// How many a row along the last dim has; 0 for tensors without floating elements.
size_t score_count(const Tensor& tensor);
// Of each row the `count` largest scores, with their place and label: "logits" and a line each.
// Labels for another number of scores are those of another output. Empty for tensors without
// scores.
std::string top_text(const std::string& name, const Tensor& tensor, size_t count,
                     std::span<const std::string> labels);

// The same as members "type", "dtype", "sizes" and "top", of all rows; not for tensors without
// scores.
void write_top(JsonWriter& json, const Tensor& tensor, size_t count,
               std::span<const std::string> labels);

// Members "type" and, for tensors, "dtype", "sizes" and "values" (row by row), else "value". What
// is not finite is text, as JSON has no word for it.
void write_value(JsonWriter& json, const Value& value);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_VALUES_VALUES_H
