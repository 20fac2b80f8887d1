#include "convert/payloads.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "base/printable.h"
#include "package/payload_writers.h"

namespace pt2 {
namespace {

Blocker tensor_form(const std::string& name, std::string text, const Release* first) {
  return {.kind = BlockerKind::tensor_form,
          .text = std::move(text),
          .where = printable(name),
          .first = first};
}

// Unpacks a torch.save file into the tensors and objects that it holds.
Result<void> unpack(SavedTensors& tensors, std::vector<SavedObject>& objects,
                    const AddBlocker& add) {
  const auto* record = std::get_if<Record>(&tensors);
  if (record == nullptr) return {};
  PT2_TRY(UnpackedPayloads unpacked, unpack_torch_save(*record));
  for (const Error& refused : unpacked.refused)
    add(tensor_form(refused.where, refused.message, nullptr));
  tensors = std::move(unpacked.tensors);
  std::ranges::move(unpacked.objects, std::back_inserter(objects));
  return {};
}

// Layouts before 2.9 store all tensors of a payload in one torch.save file.
void check_packed(const SavedTensors& tensors, const AddBlocker& add) {
  const auto* list = std::get_if<std::vector<SavedTensor>>(&tensors);
  if (list == nullptr) return;
  PickleBuilder builder;
  for (const SavedTensor& saved : *list)
    if (const auto packed = packed_tensor(builder, saved); !packed)
      add(tensor_form(saved.name, packed.error().message, find_release("2.9")));
}

void check_packed(std::span<const SavedObject> objects, const AddBlocker& add) {
  PickleBuilder builder;
  for (const SavedObject& object : objects)
    if (const auto packed = packed_object(builder, object); !packed)
      add({.kind = BlockerKind::object,
           .text = "a custom object: " + packed.error().message,
           .where = printable(object.name),
           .first = find_release("2.9")});
}

// Returns why a record that belongs to no program cannot keep its name in another layout; nothing
// if it can.
std::optional<Blocker> record_obstacle(const SavedFile& file, Era from, Era to) {
  const Role before = classify_record(from, file.name).role;
  const Role after = classify_record(to, file.name).role;
  Blocker blocker{.kind = BlockerKind::record, .where = printable(file.name)};
  if (before == after) return std::nullopt;
  if (after != Role::unknown) {
    blocker.text = fmt::format("a record of role {}, whose name means {} in that release",
                               role_name(before), role_name(after));
    return blocker;
  }
  // Loaders find compiled code by its folder, and flat archives have no folders.
  if (before != Role::aotinductor && before != Role::executorch) return std::nullopt;
  blocker.text = "compiled code";
  blocker.first = find_release("2.8");
  return blocker;
}

void move_records(PackageContents& contents, Era era, const AddBlocker& add) {
  std::erase_if(contents.other_records, [&](const SavedFile& file) {
    std::optional<Blocker> obstacle = record_obstacle(file, contents.era, era);
    if (!obstacle) return false;
    add(*std::move(obstacle));
    return true;
  });
}

void check_programs(const PackageContents& contents, Era era, const AddBlocker& add) {
  if (era == Era::flat && contents.programs.size() > 1)
    add({.kind = BlockerKind::several_programs,
         .text = fmt::format("{} programs", contents.programs.size()),
         .first = find_release("2.8")});
  for (const SavedProgram& program : contents.programs) {
    if (era == Era::flat && program.name != "model")
      add({.kind = BlockerKind::program_name,
           .text = fmt::format("the name {}", printable(program.name)),
           .where = printable(program.name),
           .first = find_release("2.8")});
  }
}

bool is_pickled(Era era) { return era != Era::raw_payloads; }

}  // namespace

Result<void> convert_payloads(PackageContents& contents, Era era, const AddBlocker& add) {
  check_programs(contents, era, add);
  move_records(contents, era, add);
  for (SavedProgram& program : contents.programs) {
    if (!is_pickled(era) && is_pickled(contents.era)) {
      PT2_TRY_VOID(unpack(program.state_dict, program.objects, add));
      PT2_TRY_VOID(unpack(program.constants, program.objects, add));
    }
    if (is_pickled(era)) {
      check_packed(program.state_dict, add);
      check_packed(program.constants, add);
      check_packed(program.objects, add);
    }
    if (era == Era::flat) program.name = "model";
  }
  contents.era = era;
  return {};
}

Result<void> move_constants(SavedProgram& program, const std::vector<SavedTensor>& added,
                            const std::vector<std::string>& removed) {
  if (added.empty() && removed.empty()) return {};
  // The constants of schema 1 are in the program's JSON and come in `added`.
  if (const auto* record = std::get_if<Record>(&program.constants)) {
    PT2_TRY(UnpackedPayloads unpacked, unpack_torch_save(*record));
    if (!unpacked.refused.empty()) return unpacked.refused.front();
    program.constants = std::move(unpacked.tensors);
    std::ranges::move(unpacked.objects, std::back_inserter(program.objects));
  }
  auto& constants = std::get<std::vector<SavedTensor>>(program.constants);
  const std::set<std::string_view> gone(removed.begin(), removed.end());
  std::erase_if(constants, [&](const SavedTensor& saved) { return gone.contains(saved.name); });
  constants.insert(constants.end(), added.begin(), added.end());
  return {};
}

}  // namespace pt2
