// Models of the C interface, with the texts and numbers that callers borrow.
#ifndef PT2_C_MODELS_H
#define PT2_C_MODELS_H

#include <vector>

#include "c/border.h"
#include "pt2/model.h"

namespace pt2::c {

// Sizes of an input or output: -1 and a range for a size that varies.
struct PlaceSizes {
  Sizes sizes{};
  Sizes minimum{};
  Sizes maximum{};
};
PlaceSizes place_sizes(const Program& program, const ModelValue& value);
// Returns the FQNs of parameters, buffers and constants.
std::vector<std::string> state_names(const Program& program);
// Copies elements into a parameter, buffer or constant of the session. Error `argument` if there is
// none, or if its dtype or sizes differ.
Result<void> set_state(Session& session, std::string_view name, const Tensor& source);

}  // namespace pt2::c

struct pt2_model {
  explicit pt2_model(pt2::Model loaded);

  pt2::Model model;
  std::vector<pt2::c::PlaceSizes> inputs;
  std::vector<pt2::c::PlaceSizes> outputs;
  std::vector<std::string> argument_trees;
  std::string result_tree;
  std::vector<std::string> states;
};

#endif  // PT2_C_MODELS_H
