// Converts between one torch.save file for all values (to 2.8) and a record for each value (2.9
// on).
#include <fmt/format.h>

#include "archive/pickle/pickle_globals.h"
#include "base/try_at.h"
#include "package/payload_writers.h"
#include "package/script_object.h"

namespace pt2 {
namespace {

constexpr std::string_view kTorchScriptClass = "__torch__.";

Error refused(std::string message, const std::string& name) {
  return {ErrorCode::unsupported, std::move(message), name};
}

// Takes bytes of a value that gets a record with its own copy, which names may share.
Result<void> take(uint64_t bytes, uint64_t& left, const std::string& name) {
  if (bytes > left)
    return Error{ErrorCode::limit,
                 "the values that need a record of their own take more bytes than the file holds",
                 name};
  left -= bytes;
  return {};
}

// Returns the parts of a torch.save file. They refer to storages that the pickle owns, so each part
// keeps the pickle alive.
Result<std::vector<Record>> torch_save_of(Pickle pickle, uint64_t& left, const std::string& name) {
  const auto owner = std::make_shared<const Pickle>(std::move(pickle));
  PartsSink sink;
  PT2_TRY_VOID(write_torch_save(*owner, sink, TorchSaveFormat::v0));
  std::vector<Record> parts = sink.take();
  for (Record& part : parts) {
    PT2_TRY_VOID(take(part.bytes.size(), left, name));
    if (part.owner == nullptr) part.owner = owner;
  }
  return parts;
}

// Concatenates the parts; a single part (a file that was read) is returned as it is.
Record joined(std::span<const Record> parts) {
  if (parts.size() == 1) return parts.front();
  std::string bytes;
  for (const Record& part : parts) bytes += part.text();
  return make_record(std::move(bytes));
}

Result<SavedTensor> unpacked_tensor(const std::string& name, const PickleValue& value,
                                    uint64_t& left) {
  const PickleTensor& found = value.tensor();
  SavedTensor saved{.name = name,
                    .is_parameter = found.is_parameter,
                    .requires_grad = found.requires_grad,
                    .device = found.device};
  if (found.tensor.defined() && found.class_name.empty()) {
    saved.tensor = found.tensor;
    return saved;
  }
  PickleBuilder builder;
  const PickleValue root = builder.copy(value);
  PT2_TRY_VOID(take(builder.copied_bytes(), left, name));
  PT2_TRY(saved.pickled, torch_save_of(builder.finish(root), left, name));
  return saved;
}

// Returns an object in the form of its own record. torch.save writes (result of __getstate__, class
// name). torch._C._pickle_save, which creates such records, writes an object of that class with
// that state.
Result<SavedObject> unpacked_object(const std::string& name, const PickleValue& value,
                                    uint64_t& left) {
  const std::string class_name(value.text());
  const bool has_state = class_name.starts_with(kTorchScriptClass) && value.size() == 1 &&
                         value[0].is(PickleKind::tuple) && value[0].size() == 2;
  if (!has_state) return refused("found an object that is none of TorchScript", name);
  PickleBuilder builder;
  PT2_TRY_AT(const PickleValue state, name, typed_state(builder, value[0][0], left));
  const PickleValue root = builder.object(class_name, state);
  PT2_TRY(std::vector<Record> parts, torch_save_of(builder.finish(root), left, name));
  return SavedObject{.name = name, .content = std::move(parts)};
}

}  // namespace

Result<UnpackedPayloads> unpack_torch_save(const Record& record) {
  UnpackedPayloads out;
  PT2_TRY(const Pickle pickle, read_torch_save(record, PickleMode::in_place));
  const PickleValue root = pickle.root();
  // torch.export.load accepts an empty tuple for an empty dict.
  if (root.is(PickleKind::none) || (root.is_sequence() && root.size() == 0)) return out;
  if (!root.is_dict()) return Error{ErrorCode::invalid, "found no dict of tensors", {}};
  // Names may share a value that is no plain tensor, and each gets a record with its own copy.
  constexpr uint64_t kAlways = 64 << 20;
  uint64_t left = kAlways + 2 * record.bytes.size();
  const auto keep = [&](auto unpacked, auto& list) -> Result<void> {
    if (unpacked)
      list.push_back(*std::move(unpacked));
    else if (unpacked.error().code == ErrorCode::limit)
      return std::move(unpacked).error();
    else
      out.refused.push_back(std::move(unpacked).error());
    return {};
  };
  for (size_t i = 0; i < root.dict_size(); ++i) {
    const PickleValue key = root.key(i), value = root.value(i);
    if (!key.is(PickleKind::string))
      return Error{ErrorCode::invalid, "found a key that is not a name", {}};
    const std::string name(key.text());
    if (value.is(PickleKind::tensor)) {
      PT2_TRY_VOID(keep(unpacked_tensor(name, value, left), out.tensors));
    } else if (value.is(PickleKind::object)) {
      PT2_TRY_VOID(keep(unpacked_object(name, value, left), out.objects));
    } else {
      out.refused.push_back(refused(
          fmt::format("found {}, expected a tensor", pickle_kind_name(value.kind())), name));
    }
  }
  return out;
}

Result<PickleValue> packed_tensor(PickleBuilder& builder, const SavedTensor& saved) {
  if (saved.is_fake)
    return refused(
        "a tensor without elements cannot be kept in the one file that holds the tensors",
        saved.name);
  if (!saved.pickled.empty()) {
    PT2_TRY(const Pickle pickle, read_torch_save(joined(saved.pickled), PickleMode::in_place));
    return builder.copy(pickle.root());
  }
  if (!saved.tensor.defined())
    return Error{ErrorCode::argument, "the tensor has no elements", saved.name};
  return builder.tensor({.tensor = saved.tensor,
                         .device = saved.device,
                         .is_parameter = saved.is_parameter,
                         .requires_grad = saved.requires_grad});
}

Result<PickleValue> packed_object(PickleBuilder& builder, const SavedObject& object) {
  if (object.is_opaque)
    return refused("an opaque Python object cannot be kept in the one file that holds the tensors",
                   object.name);
  PT2_TRY(const Pickle pickle, read_torch_save(joined(object.content), PickleMode::listing));
  const PickleValue root = pickle.root();
  const bool is_plain = root.is(PickleKind::object) && root.size() == 1 && !root.is_called() &&
                        root.text().starts_with(kTorchScriptClass) &&
                        pickle.refused().size() == 1 && !pickle.refused().front().called;
  if (!is_plain)
    return refused("the state of a custom object is not made of plain values", object.name);
  const PickleValue state[] = {builder.copy(root[0]), builder.string(std::string(root.text()))};
  return builder.object(std::string(kScriptObject), builder.sequence(PickleKind::tuple, state));
}

}  // namespace pt2
