#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "change/contents.h"
#include "pt2/weights.h"

namespace pt2 {
namespace {

// It becomes a part of file names.
bool is_name(std::string_view name) {
  return !name.empty() && name.find_first_of("/\\") == name.npos && name != "." && name != "..";
}

}  // namespace

Result<PackageContents> pack(std::span<const PackedProgram> programs) {
  PackageContents out{.era = Era::raw_payloads};
  for (const PackedProgram& each : programs) {
    if (!is_name(each.name))
      return Error{ErrorCode::argument, "this is no name of a program", each.name};
    if (std::ranges::find(out.programs, each.name, &SavedProgram::name) != out.programs.end())
      return Error{ErrorCode::argument, "two programs have this name", each.name};
    PT2_TRY(PackageContents contents, package_contents(*each.package));
    PT2_TRY(const std::string model, each.package->model_name());
    PT2_TRY(const size_t index, find_saved(contents, model));
    SavedProgram& saved = contents.programs[index];
    PT2_TRY_VOID(list_tensors(saved));
    saved.name = each.name;
    out.programs.push_back(std::move(saved));
    for (SavedFile& file : contents.extra_files)
      if (std::ranges::find(out.extra_files, file.name, &SavedFile::name) == out.extra_files.end())
        out.extra_files.push_back(std::move(file));
  }
  PT2_TRY([[maybe_unused]] const ChangeLines shared, share_weights(out));
  return out;
}

Result<PackageContents> unpack(const Package& package, std::string_view model) {
  PT2_TRY(PackageContents contents, package_contents(package));
  PT2_TRY(const std::string name, package.model_name(model));
  PT2_TRY(const size_t index, find_saved(contents, name));
  PackageContents out{.era = contents.era, .origin = contents.origin};
  out.programs.push_back(std::move(contents.programs[index]));
  out.programs.front().name = "model";
  out.extra_files = std::move(contents.extra_files);
  return out;
}

}  // namespace pt2
