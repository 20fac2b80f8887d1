// Do the inputs of a call fit a program: count, dtypes, sizes, ranges of its symbols, guards? Model
// asks before every run; here without weights, kernels or the elements of a tensor.
#ifndef PT2_CHECK_INPUTS_H
#define PT2_CHECK_INPUTS_H

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "pt2/ir/guards.h"
#include "pt2/ir/program.h"
#include "pt2/value.h"

namespace pt2 {

// A tensor without its elements. The lists are borrowed.
struct TensorShape {
  Dtype dtype = Dtype::float32;
  std::span<const int64_t> sizes{};
  std::span<const int64_t> strides{};  // in elements
  int64_t storage_offset = 0;
};
// What a check looks at: a tensor's shape, or any other value. Borrows it.
using InputShape = std::variant<TensorShape, const Value*>;
InputShape input_shape(const Value& value);

// The guards of the program that are understood; PyTorch may add forms, and a program runs without
// them.
std::vector<Guard> parse_guards(const Program& program);

// The number that a symbol has in a call.
using SymbolValues = std::vector<std::pair<std::string, int64_t>>;

// A layout in which a program can take an input whose own strides its guards refuse:
// the one that the file records, or the contiguous one. Nobody who comes with the elements alone
// can know it.
struct InputLayout {
  size_t input = 0;
  Sizes strides{};
};

// What a program asks of its inputs, found once for any number of calls. The program must outlive
// it and not change.
class InputConditions {
 public:
  explicit InputConditions(const Program& program);

  // One for each user input: user_input_names.
  std::span<const std::string> names() const { return names_; }

  // Binds the symbols of the inputs' sizes to the numbers of this call and compares everything else
  // with them (torch/_export/utils.py, _check_input_constraints_for_graph), then checks the guards,
  // as the _guards_fn of torch/export/_unlift.py does. `inputs` has one entry per user input. The
  // symbols, in the order in which inputs gave them. Error `argument` naming input, dimension, what
  // was found and what is allowed, and which other input says so; or that there are not as many
  // inputs as the program takes. Guards on strides are no error where copies of inputs in other
  // layouts meet them: whoever runs the program asks for `layouts` and makes these copies.
  Result<SymbolValues> check(std::span<const InputShape> inputs,
                             std::vector<InputLayout>* layouts = nullptr) const;

 private:
  struct Condition {
    const ArgumentSpec* spec = nullptr;
    const GraphValue* record = nullptr;  // null where the graph has none
  };
  struct InputGuard {
    Guard guard;
    // For each of its sources the input that it speaks of, where there is one.
    std::vector<std::optional<size_t>> inputs;
  };
  Result<void> check_guards(std::span<const InputShape> inputs) const;
  std::vector<InputLayout> find_layouts(std::span<const InputShape> inputs,
                                        const SymbolBindings* symbols) const;

  const Program* program_;
  std::vector<std::string> names_;
  std::vector<Condition> conditions_;
  std::vector<InputGuard> guards_;
};

}  // namespace pt2

#endif  // PT2_CHECK_INPUTS_H
