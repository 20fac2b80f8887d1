// Makes symbolic sizes in the spelling of the program's release.
#ifndef PT2_CHANGE_SIZES_H
#define PT2_CHANGE_SIZES_H

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pt2/ir/program.h"
#include "pt2/result.h"

namespace pt2 {

// Error `argument` if no number lies within the range.
Result<void> check_not_empty(const SymRange& range);
// True if the expression has the symbol. A literal number has a null expression, and no symbols.
bool has_symbol(Expr expr, SymbolId symbol);
// Returns the size for an expression; a literal if the expression is an integer.
Result<SymInt> spelled_size(Program& program, Expr expr, std::optional<int64_t> hint);
// Finds user inputs by name: all take the time of reading the tree of the inputs once.
class UserInputs {
 public:
  // `program` must outlive the object, and keep its inputs.
  explicit UserInputs(const Program& program);
  // Returns the value of an input, given its name in user_input_names or its own name.
  Result<ValueId> find(std::string_view input) const;

 private:
  const Program& program_;
  std::vector<ArgumentSpec> specs_;
  std::unordered_map<std::string, size_t> positions_;
};
// The same for a single input.
Result<ValueId> find_input_value(const Program& program, std::string_view input);
// Returns the value of this name, with or without "%".
Result<ValueId> find_named_value(const Program& program, std::string_view name);
// Drops the guards that hold for no other size than `size` within the range of the symbol. The
// export writes them where it makes a constant of a size that was to vary (Dim.AUTO).
void drop_guards_of_one_size(Program& program, Expr symbol, int64_t size, const SymRange& range);
// Returns a size of a tensor input. Error `argument`.
Result<SymInt> input_size(const Program& program, ValueId input, size_t dim);

}  // namespace pt2

#endif  // PT2_CHANGE_SIZES_H
