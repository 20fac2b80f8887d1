#include "convert/payloads.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/printable.h"
#include "package/read_package.h"
#include "pt2/pickle_write.h"

namespace pt2 {
namespace {

Blocker tensor_form(const std::string& name, std::string text, const Release* first) {
  return {.kind = BlockerKind::tensor_form,
          .text = std::move(text),
          .where = printable(name),
          .first = first};
}

SavedTensor saved_tensor(const PayloadTensor& payload) {
  return {.name = payload.name,
          .tensor = payload.tensor,
          .is_parameter = payload.is_parameter,
          .requires_grad = payload.requires_grad,
          .device = payload.device};
}

// The tensors of one torch.save file, taken out of it: views of its bytes.
Result<void> unpack(const Payloads& payloads, PayloadKind kind, SavedTensors& tensors,
                    const AddBlocker& add) {
  if (!std::holds_alternative<Record>(tensors)) return {};
  std::vector<SavedTensor> unpacked;
  for (const PayloadTensor& payload : payloads.tensors()) {
    if (payload.kind != kind) continue;
    if (payload.missing.empty())
      unpacked.push_back(saved_tensor(payload));
    else
      add(tensor_form(payload.name, payload.missing + " has no raw bytes", nullptr));
  }
  tensors = std::move(unpacked);
  return {};
}

// Before 2.9 there is one torch.save file for all: a subclass or a fake tensor cannot be in it.
void check_packed(const SavedTensors& tensors, const AddBlocker& add) {
  const auto* list = std::get_if<std::vector<SavedTensor>>(&tensors);
  if (list == nullptr) return;
  const Release* first = find_release("2.9");
  for (const SavedTensor& saved : *list) {
    if (saved.is_fake) add(tensor_form(saved.name, "a tensor saved without elements", first));
    if (!saved.pickled.bytes.empty())
      add(tensor_form(saved.name, "a tensor subclass in a record of its own", first));
  }
}

// Why a record that is no program's cannot be called so in another layout; nothing where it can.
std::optional<Blocker> record_obstacle(const SavedFile& file, Era from, Era to) {
  const Role before = classify_record(from, file.name).role;
  const Role after = classify_record(to, file.name).role;
  Blocker blocker{.kind = BlockerKind::record, .where = printable(file.name)};
  if (before == after) return std::nullopt;
  if (after != Role::unknown) {
    blocker.text =
        fmt::format("a record of role {}, which would be {}", role_name(before), role_name(after));
    return blocker;
  }
  // Compiled code is found by its folder, which flat archives have not.
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
    if (era != Era::raw_payloads)
      for (const SavedObject& object : program.objects)
        add({.kind = BlockerKind::object,
             .text = object.is_opaque ? "an opaque object" : "a custom object",
             .where = printable(object.name),
             .first = find_release("2.9")});
  }
}

bool is_pickled(Era era) { return era != Era::raw_payloads; }

}  // namespace

Result<void> convert_payloads(const Package& package, PackageContents& contents, Era era,
                              const AddBlocker& add) {
  check_programs(contents, era, add);
  move_records(contents, era, add);
  for (SavedProgram& program : contents.programs) {
    if (!is_pickled(era) && is_pickled(contents.era)) {
      PT2_TRY(const auto payloads, read_payloads_in_place(package, program.name));
      for (const PayloadObject& object : payloads->objects())
        add({.kind = BlockerKind::object,
             .text = "a custom object within a torch.save file",
             .where = printable(object.name)});
      PT2_TRY_VOID(unpack(*payloads, PayloadKind::weight, program.state_dict, add));
      PT2_TRY_VOID(unpack(*payloads, PayloadKind::constant, program.constants, add));
    }
    if (is_pickled(era)) {
      check_packed(program.state_dict, add);
      check_packed(program.constants, add);
    }
    if (era == Era::flat) program.name = "model";
  }
  contents.era = era;
  return {};
}

Result<void> move_constants(const Package& package, SavedProgram& program,
                            const std::vector<SavedTensor>& added,
                            const std::vector<std::string>& removed) {
  if (added.empty() && removed.empty()) return {};
  if (std::holds_alternative<Record>(program.constants)) {
    PT2_TRY(const auto payloads, read_payloads_in_place(package, program.name));
    std::vector<SavedTensor> unpacked;
    // Those of schema 1 lie in the program's JSON and are among `added`.
    const bool is_empty = std::get<Record>(program.constants).bytes.empty();
    for (const PayloadTensor& payload : payloads->tensors())
      if (payload.kind == PayloadKind::constant && !is_empty)
        unpacked.push_back(saved_tensor(payload));
    program.constants = std::move(unpacked);
  }
  auto& constants = std::get<std::vector<SavedTensor>>(program.constants);
  std::erase_if(constants, [&](const SavedTensor& saved) {
    return std::ranges::find(removed, saved.name) != removed.end();
  });
  constants.insert(constants.end(), added.begin(), added.end());
  return {};
}

}  // namespace pt2
