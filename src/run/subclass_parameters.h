// Parameters that are tensor subclasses. libpt2 has no subclasses and replaces such a parameter by
// its inner tensors. A program can run if its nodes only take the inner tensors out, as
// torch.export writes it for a subclass parameter (torch/export/_wrapper_utils.py and
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
  std::map<std::string, Tensor> inner;  // by the targets of their input specs
};

// Returns the program with one input per inner tensor that is taken out of a subclass, in the place
// of the subclass; null if no input is a subclass. Errors: `unsupported` if a node uses the
// subclass itself, `invalid` if it has no inner tensor of the name.
Result<std::shared_ptr<const UnwrappedProgram>> unwrap_subclasses(const Program& program,
                                                                  const Payloads& payloads);

}  // namespace pt2::run

#endif  // PT2_RUN_SUBCLASS_PARAMETERS_H
