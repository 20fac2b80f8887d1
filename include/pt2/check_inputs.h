// Checks that the inputs of a call fit a program: count, dtypes, sizes, ranges of symbols, guards.
// Model does this before every run. The check needs no weights, no kernels and no elements.
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
// An input as the check sees it: the shape of a tensor, or another value, borrowed.
using InputShape = std::variant<TensorShape, const Value*>;
InputShape input_shape(const Value& value);

// Returns the guards of the program that can be parsed. Other guards are skipped: PyTorch may add
// forms, and a program runs without them.
std::vector<Guard> parse_guards(const Program& program);

// The numbers that symbols have in a call, by name.
using SymbolValues = std::vector<std::pair<std::string, int64_t>>;

// A layout that the guards accept, for an input whose own strides they refuse: the layout in the
// file, or the contiguous one. A caller who has only the elements cannot know which strides the
// program expects.
struct InputLayout {
  size_t input = 0;
  Sizes strides{};
};

// The conditions of a program on its inputs, prepared once for any number of calls. The program
// must outlive this object and not change.
class InputConditions {
 public:
  explicit InputConditions(const Program& program);

  // Returns user_input_names: one name for each user input.
  std::span<const std::string> names() const { return names_; }

  // Checks `inputs`, which has one entry for each user input. It binds the symbols in the sizes of
  // inputs to the numbers of this call, compares all other conditions with them
  // (torch/_export/utils.py, _check_input_constraints_for_graph), then checks the guards, as the
  // _guards_fn of torch/export/_unlift.py does. Returns the symbols in the order in which inputs
  // bind them. A guard on strides is no error if it holds for copies of inputs in other layouts:
  // code that runs the program gets them in `layouts` and must make these copies. Error `argument`
  // if the number of inputs is wrong or an input does not fit; the error names input, dimension,
  // found and allowed value, and the other input that determines it.
  Result<SymbolValues> check(std::span<const InputShape> inputs,
                             std::vector<InputLayout>* layouts = nullptr) const;

 private:
  struct Condition {
    const ArgumentSpec* spec = nullptr;
    const GraphValue* record = nullptr;  // null if the graph has no value of this name
  };
  struct InputGuard {
    Guard guard;
    // For each source of the guard: the input that it refers to, if any.
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
