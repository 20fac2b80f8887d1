// Random inputs for a program, if no inputs are given.
#ifndef PT2_TOOLS_VALUES_RANDOM_INPUTS_H
#define PT2_TOOLS_VALUES_RANDOM_INPUTS_H

#include <cstdint>
#include <vector>

#include "pt2/model.h"
#include "pt2/value.h"

namespace pt2::tools {

class RandomInputs {
 public:
  explicit RandomInputs(const Model& model, uint64_t seed = 0);

  // Makes one input: floats between -1 and 1, integers 0 and 1; symbolic sizes have their values
  // from the export. Errors: `argument` for objects, which cannot be made up; `limit` if all inputs
  // together exceed 128 MB and, for each byte of the file, max_tensor_ratio: the sizes come from
  // the file alone.
  Result<Value> make(size_t index);
  // Makes all inputs, with the program's own constants.
  Result<std::vector<Value>> make_all();
  bool has_made_any() const { return has_made_any_; }

 private:
  const Model& model_;
  uint64_t seed_;
  uint64_t left_;  // in bytes
  bool has_made_any_ = false;
};

}  // namespace pt2::tools

#endif  // PT2_TOOLS_VALUES_RANDOM_INPUTS_H
