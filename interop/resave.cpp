// resave IN.pt2 OUT.pt2 [flat|pickled|raw]: writes the content of IN in the named layout, or in its
// own. For another layout every tensor is read from the original file. Used by save_files.py.
#include <cstdio>
#include <map>
#include <string_view>

#include "pt2/save.h"

namespace {

using pt2::PayloadKind;

pt2::SavedTensors unpacked(const pt2::Payloads& payloads, PayloadKind kind) {
  std::vector<pt2::SavedTensor> tensors;
  for (const pt2::PayloadTensor& each : payloads.tensors()) {
    if (each.kind != kind) continue;
    tensors.push_back({.name = each.name,
                       .tensor = each.tensor,
                       .is_parameter = each.is_parameter,
                       .requires_grad = each.requires_grad,
                       .device = each.device});
  }
  return tensors;
}

pt2::Result<void> resave(const std::string& from, const std::string& to, std::string_view layout) {
  PT2_TRY(const pt2::Package package, pt2::Package::open(from));
  PT2_TRY(pt2::PackageContents contents, pt2::package_contents(package));
  const std::map<std::string_view, pt2::Era> eras = {{"flat", pt2::Era::flat},
                                                     {"pickled", pt2::Era::pickled_payloads},
                                                     {"raw", pt2::Era::raw_payloads}};
  if (const auto era = eras.find(layout); era != eras.end()) {
    contents.era = era->second;
    for (pt2::SavedProgram& program : contents.programs) {
      PT2_TRY(const auto payloads, package.payloads(program.name));
      program.state_dict = unpacked(*payloads, PayloadKind::weight);
      program.constants = unpacked(*payloads, PayloadKind::constant);
    }
  }
  return pt2::save_package(contents, to);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const pt2::Result<void> done = resave(argv[1], argv[2], argc > 3 ? argv[3] : "");
  if (done) return 0;
  std::fprintf(stderr, "%s\n", done.error().text().c_str());
  return 1;
}
