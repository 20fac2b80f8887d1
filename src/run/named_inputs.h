// Collects inputs that a caller gives by name, in the order of the program's inputs.
#ifndef PT2_RUN_NAMED_INPUTS_H
#define PT2_RUN_NAMED_INPUTS_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "run/calling_convention.h"

namespace pt2::run {

// The inputs of one call, by the names that Model::call accepts.
class NamedInputs {
 public:
  // The convention must outlive this object.
  explicit NamedInputs(const CallingConvention& convention);

  // Error `argument`: an unknown name, a leaf given twice, or a structure that differs from the
  // program's.
  Result<void> add(std::string_view name, const Tree& tree);
  // Error `argument` naming the first leaf that is neither given nor fixed by the program.
  Result<std::vector<Value>> finish();

 private:
  // The input leaves [first, first + leaf_count(spec)).
  struct Place {
    const TreeSpec* spec = nullptr;  // null: a single leaf
    size_t first = 0;
  };
  std::optional<Place> find(std::string_view name) const;
  Error refuse(std::string text) const;

  const CallingConvention& convention_;
  std::vector<std::optional<Value>> values_;
};

}  // namespace pt2::run

#endif  // PT2_RUN_NAMED_INPUTS_H
