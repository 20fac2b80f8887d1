// Symbolic sizes made anew, in the spelling of the program's release.
#ifndef PT2_CHANGE_SIZES_H
#define PT2_CHANGE_SIZES_H

#include <optional>
#include <string_view>

#include "pt2/ir/program.h"
#include "pt2/result.h"

namespace pt2 {

// Error `argument` where no number lies within it.
Result<void> check_not_empty(const SymRange& range);
// A number where the expression is one.
Result<SymInt> spelled_size(Program& program, Expr expr, std::optional<int64_t> hint);
// The value of a user input, by user_input_names or its own name.
Result<ValueId> find_input_value(const Program& program, std::string_view input);
// By its name, with or without "%".
Result<ValueId> find_named_value(const Program& program, std::string_view name);
// A size of a tensor input. Error `argument`.
Result<SymInt> input_size(const Program& program, ValueId input, size_t dim);

}  // namespace pt2

#endif  // PT2_CHANGE_SIZES_H
