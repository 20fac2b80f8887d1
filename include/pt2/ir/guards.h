// Guards: conditions on the inputs of a program that torch.export assumed while tracing, such as
// "L['x'].size()[1] == L['y'].size()[0]" (ExportedProgram.guards_code, schema 8.11 on). A file
// holds guards as Python text. This code parses the text into expressions over symbols that stand
// for properties of inputs; it runs no Python. PyTorch checks guards in the modules that it makes
// of a program ("Guard failed: ...", torch/export/_unlift.py). pt2::Model checks them before every
// run.
#ifndef PT2_IR_GUARDS_H
#define PT2_IR_GUARDS_H

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/ir/symbols.h"

namespace pt2 {

// A property of an input that a guard refers to.
struct GuardSource {
  enum class Property : uint8_t { value, size, stride, storage_offset };
  Expr symbol{};        // the symbol that stands for the property in the guard's expression
  std::string input{};  // in the form of user_input_names: "x", "xs[0]", "table.bias"
  Property property = Property::value;
  int64_t dim = 0;  // for size and stride
};

// Finds the program input that a guard refers to. torch.export names inputs in three ways: as in
// the call (L['x']['k']), by their flat position (strict exports: L['flat_args'][2]), and elements
// of *args and **kwargs below their Python names (L['args'][0], L['kwargs']['mask']).
class GuardNames {
 public:
  // `names` are user_input_names(program).
  explicit GuardNames(std::span<const std::string> names);

  struct Found {
    size_t input;  // the index among the names
    // True for a name below **kwargs. PyTorch's own module() raises NameError for it
    // (torch/export/_unlift.py, _convert_guards_code_to_fn).
    bool is_below_kwargs = false;
  };
  // Returns the input that `source` names; nothing if there is none. O(log names).
  std::optional<Found> find(const GuardSource& source) const { return find(source.input); }
  // True if the source refers to a part of an input, such as an inner tensor of a subclass.
  bool is_inside(const GuardSource& source) const;

 private:
  std::optional<Found> find(const std::string& input) const;
  std::optional<size_t> place_of(std::string_view name) const;

  std::map<std::string, size_t, std::less<>> places_;
  size_t count_;
};

struct Guard {
  std::string text{};
  Expr expr{};  // true exactly if the guard holds
  std::vector<GuardSource> sources{};
};

// Parses one entry of guards_code. The grammar is what ShapeGuardPythonPrinter
// (torch/fx/experimental/symbolic_shapes.py) writes: L['name'] with keys, indices and attributes,
// size()[i], stride()[i], storage_offset(); Python's operators, "a if c else b", functions of math
// and torch.sym_*. Errors: `malformed`, `unsupported` (another method of an input), `limit` (nested
// too deeply).
Result<Guard> parse_guard(ExprPool& pool, std::string_view text);

// Returns the value of a source in one call; nothing if the call has no such input or property.
using GuardLookup = std::function<std::optional<Number>(const GuardSource&)>;
// Returns true if the guard holds. Errors: those of evaluating its expression; `unsupported` for a
// source that the call does not have.
Result<bool> evaluate(const Guard& guard, const GuardLookup& lookup);
// Checks that the guard holds. Error `argument` if not: "guard failed: size 1 of x must equal size
// 0 of y, but size 1 of x is 3, size 0 of y is 4". It does not hold either where Python raises: if
// it divides by zero. Error `unsupported` if this is not known.
Result<void> check_guard(const Guard& guard, const GuardLookup& lookup);

// Returns the source as text, "size 0 of x".
std::string print(const GuardSource& source);
// Returns the guard as text: "size 1 of x must equal size 0 of y", "2*(size 0 of x) must be at
// least 3".
std::string print(const Guard& guard);

}  // namespace pt2

#endif  // PT2_IR_GUARDS_H
