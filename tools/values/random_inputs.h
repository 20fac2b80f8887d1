// Inputs made up for a program, where nobody gives any.
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

  // For one input: numbers between -1 and 1, integers 0 and 1; symbolic sizes as they were while
  // exporting. Errors: `argument` for what cannot be made up (objects); `limit` where all take more
  // than 128 MB and, for each byte of the file, max_tensor_ratio: the file alone says how large
  // they are.
  Result<Value> make(size_t index);
  // For all, with the program's own constants.
  Result<std::vector<Value>> make_all();
  bool has_made_any() const { return has_made_any_; }

 private:
  const Model& model_;
  uint64_t seed_;
  uint64_t left_;  // bytes
  bool has_made_any_ = false;
};

}  // namespace pt2::tools

#endif  // PT2_TOOLS_VALUES_RANDOM_INPUTS_H
