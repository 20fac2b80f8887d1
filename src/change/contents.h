// Programs and payloads of package contents that are being changed.
#ifndef PT2_CHANGE_CONTENTS_H
#define PT2_CHANGE_CONTENTS_H

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/ir/program.h"
#include "pt2/result.h"
#include "pt2/save.h"

namespace pt2 {

// Returns the index of a program; an empty name stands for the only program. Error `argument`.
Result<size_t> find_saved(const PackageContents& contents, std::string_view model);
Result<Program> decode_saved(const SavedProgram& saved);
// Lists the tensors one by one, also if they are in one torch.save file. Error `unsupported` for
// programs whose JSON names its payloads.
Result<void> list_tensors(SavedProgram& saved);
std::vector<SavedTensor>& state_of(SavedProgram& saved);
std::vector<SavedTensor>& constants_of(SavedProgram& saved);
// Calls `visit(SavedTensor&)` for the tensors of both lists.
template <class Visit>
void for_each_tensor(SavedProgram& saved, Visit&& visit) {
  for (SavedTensor& each : state_of(saved)) visit(each);
  for (SavedTensor& each : constants_of(saved)) visit(each);
}
// Returns a copy without gaps, with the same order of dimensions in memory: views that the program
// takes of the tensor are views of the copy, too.
Tensor packed(const Tensor& tensor);
// Returns the parameters and buffers that the program writes to, in its outputs or in place.
std::set<std::string> written_targets(const Program& program);

}  // namespace pt2

#endif  // PT2_CHANGE_CONTENTS_H
