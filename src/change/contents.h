// Programs and payloads of contents that are being changed.
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

// The only one for an empty name. Error `argument`.
Result<size_t> find_saved(const PackageContents& contents, std::string_view model);
Result<Program> decode_saved(const SavedProgram& saved);
// Tensors one by one, also where they were one torch.save file. Error `unsupported` for programs
// whose JSON names its payloads.
Result<void> list_tensors(SavedProgram& saved);
std::vector<SavedTensor>& state_of(SavedProgram& saved);
std::vector<SavedTensor>& constants_of(SavedProgram& saved);
// Calls `visit(SavedTensor&)` for those of both.
template <class Visit>
void for_each_tensor(SavedProgram& saved, Visit&& visit) {
  for (SavedTensor& each : state_of(saved)) visit(each);
  for (SavedTensor& each : constants_of(saved)) visit(each);
}
// Names of the parameters and buffers that the program writes to, in its outputs or in place.
std::set<std::string> written_targets(const Program& program);

}  // namespace pt2

#endif  // PT2_CHANGE_CONTENTS_H
