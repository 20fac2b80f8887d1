// Finds the program input that a guard refers to. torch.export names inputs in three ways: as the
// call does (L['x']['k']), by their flat position (strict exports: L['flat_args'][2]), and elements
// of *args and **kwargs below their Python names (L['args'][0], L['kwargs']['mask']).
#ifndef PT2_IR_GUARD_NAMES_H
#define PT2_IR_GUARD_NAMES_H

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/ir/program.h"

namespace pt2 {

class GuardNames {
 public:
  // `names` are user_input_names.
  explicit GuardNames(std::span<const std::string> names);

  struct Found {
    size_t input;
    // PyTorch's own module() finds no such name: NameError (torch/export/_unlift.py,
    // _convert_guards_code_to_fn).
    bool is_below_kwargs = false;
  };
  // `input` is GuardSource::input; nothing where no input has that name. O(log names).
  std::optional<Found> find(const std::string& input) const;
  // Whether the guard refers to something inside of an input, such as an inner tensor of a
  // subclass.
  bool is_inside(const std::string& input) const;

 private:
  std::map<std::string, size_t, std::less<>> places_;
  size_t count_;
};

// The same without an index, for a few look-ups: O(names).
std::optional<size_t> find_guard_input(std::span<const std::string> names,
                                       const std::string& input);

// For each user input, the text in guards that PyTorch replaces by it: "L['xs'][0]", "L['p'].bias".
std::vector<std::string> guard_paths(const Program& program);

}  // namespace pt2

#endif  // PT2_IR_GUARD_NAMES_H
