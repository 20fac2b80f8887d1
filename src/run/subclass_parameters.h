// Parameters that are tensor subclasses. libpt2 has none: such a parameter is its inner tensors. A
// program can run if it does nothing with the parameter but take these out, which torch.export
// makes of a subclass that is a parameter (torch/export/_wrapper_utils.py and
// torch/_export/non_strict_utils.py, access_subclass_inner_tensor).
#ifndef PT2_RUN_SUBCLASS_PARAMETERS_H
#define PT2_RUN_SUBCLASS_PARAMETERS_H

#include <map>
#include <memory>
#include <string>

#include "pt2/ir/program.h"
#include "pt2/package.h"

namespace pt2::run {

struct UnwrappedProgram {
  Program program;
  std::map<std::string, Tensor> inner;  // by the names of their inputs' targets
};

// The program with an input for each inner tensor that is taken out of a subclass, in the place of
// the subclass; null where no input is one. Errors: `unsupported` when a node uses the subclass
// itself, `invalid` when it has no inner tensor of the name.
Result<std::shared_ptr<const UnwrappedProgram>> unwrap_subclasses(const Program& program,
                                                                  const Payloads& payloads);

}  // namespace pt2::run

#endif  // PT2_RUN_SUBCLASS_PARAMETERS_H
