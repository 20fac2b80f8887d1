#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "base/text.h"
#include "change/contents.h"
#include "pt2/tools/weights.h"

namespace pt2 {
namespace {

// Adds records of another file; records of the same name must have the same contents.
Result<void> add_records(std::vector<SavedFile>& records, std::vector<SavedFile> added) {
  std::map<std::string_view, const SavedFile*> known;
  for (const SavedFile& record : records) known.emplace(record.name, &record);
  std::vector<SavedFile> missing;
  for (SavedFile& record : added) {
    const auto found = known.find(record.name);
    if (found == known.end()) {
      missing.push_back(std::move(record));
    } else if (!std::ranges::equal(found->second->content.bytes, record.content.bytes)) {
      return Error{ErrorCode::argument,
                   "two files have a record of this name with different contents; remove it from "
                   "one of them: pt2 meta set FILE NAME -o NEW",
                   record.name};
    }
  }
  std::ranges::move(missing, std::back_inserter(records));
  return {};
}

}  // namespace

Result<PackageContents> pack(std::span<const PackedProgram> programs) {
  PackageContents out{.era = Era::raw_payloads};
  std::map<const Package*, PackageContents> packages;
  for (const PackedProgram& each : programs) {
    if (!is_file_name(each.name))
      return Error{ErrorCode::argument,
                   "this cannot be the name of a program, which becomes a part of file names; give "
                   "another: NAME=FILE",
                   each.name};
    if (std::ranges::find(out.programs, each.name, &SavedProgram::name) != out.programs.end())
      return Error{ErrorCode::argument, "two programs have this name; give another: NAME=FILE",
                   each.name};
    if (each.package == nullptr)
      return Error{ErrorCode::argument, "found no package, expected one that Package::open gave",
                   each.name};
    auto read = packages.find(each.package);
    if (read == packages.end()) {
      PT2_TRY(PackageContents contents, package_contents(*each.package));
      PT2_TRY_VOID(add_records(out.extra_files, std::exchange(contents.extra_files, {})));
      PT2_TRY_VOID(add_records(out.other_records, std::exchange(contents.other_records, {})));
      read = packages.emplace(each.package, std::move(contents)).first;
    }
    PT2_TRY(const std::string model, each.package->model_name(each.model));
    PT2_TRY(const size_t index, find_saved(read->second, model));
    SavedProgram saved = read->second.programs[index];
    PT2_TRY_VOID(list_tensors(saved));
    saved.name = each.name;
    out.programs.push_back(std::move(saved));
  }
  PT2_TRY([[maybe_unused]] const ChangeLines shared, share_weights(out));
  return out;
}

Result<PackageContents> unpack(const PackageContents& contents, std::string_view model) {
  PT2_TRY(const size_t index, find_saved(contents, model));
  PackageContents out{.era = contents.era,
                      .programs = {contents.programs[index]},
                      .extra_files = contents.extra_files,
                      .other_records = contents.other_records,
                      .origin = contents.origin};
  out.programs.front().name = "model";
  return out;
}

}  // namespace pt2
