// Reads a storage inside a pickle. It is a file in the form that torch.save had before zip files
// (legacy_save.h). torch.load runs the calls in its pickles, so they count as calls of the outer
// pickle.
#include <fmt/format.h>

#include <cstring>

#include "archive/pickle/legacy_save.h"
#include "archive/pickle/unpickler.h"

namespace pt2 {
namespace {

enum class Part : size_t { magic_number, protocol_number, machine, storage, keys, count };

}  // namespace

Result<void> Unpickler::run_inside(Unpickler& inner) {
  inner.is_inside_ = true;
  inner.memory_ = memory_;
  inner.graph_->memory = graph_->memory;
  inner.opcodes_ = opcodes_;
  Result<void> done = inner.execute();
  memory_ = inner.memory_;
  opcodes_ = inner.opcodes_;
  const auto keep = [&](std::span<const ForeignCall> found, std::vector<ForeignCall>& out) {
    for (const ForeignCall& each : found)
      if (out.size() < kMaxNoted) out.push_back({each.text, opcode_offset_});
  };
  keep(inner.calls(), graph_->calls);
  keep(inner.expressions(), graph_->expressions);
  if (done) return {};
  return error(done.error().code, fmt::format("inside the bytes of a storage, {}: {}",
                                              done.error().where, done.error().message));
}

// Returns the length of the pickle.
Result<size_t> Unpickler::follow_inside(std::span<const std::byte> bytes, size_t part) {
  const StorageLoader none;
  Unpickler inner(bytes, mode_, none, limits_);
  inner.follows_ = true;
  PT2_TRY_VOID(run_inside(inner));
  const PickleNode& root = inner.node(inner.graph_->root);
  const auto* text = std::get_if<std::string>(&root.payload);
  const auto* number = std::get_if<int64_t>(&root.payload);
  const auto* items = std::get_if<PickleItems>(&root.payload);
  const auto is_big_endian = [&] {
    for (size_t i = 0; i + 1 < items->size(); i += 2)
      if (const std::string* key = inner.find_text((*items)[i]); key && *key == kLegacyByteOrder)
        if (const bool* little = std::get_if<bool>(&inner.node((*items)[i + 1]).payload))
          return !*little;
    return false;
  };
  bool fits = false;
  switch (static_cast<Part>(part)) {
    case Part::magic_number:
      fits = root.kind == PickleKind::big_integer && *text == kLegacyMagicNumber;
      break;
    case Part::protocol_number:
      fits = number != nullptr && *number == kLegacyProtocol;
      break;
    case Part::machine:
      fits = root.kind == PickleKind::dict;
      if (fits && is_big_endian())
        return error(ErrorCode::unsupported, "the bytes of a storage are big-endian");
      break;
    case Part::storage:
      fits = root.kind == PickleKind::storage;
      break;
    case Part::keys:
      fits = root.kind == PickleKind::list && items->size() == 1;
      break;
    case Part::count:
      break;
  }
  if (fits) return inner.position();
  return error(ErrorCode::unsupported,
               "torch.storage._load_from_bytes is given something other than one storage");
}

Result<PickleId> Unpickler::read_inner_storage(std::span<const std::byte> pickle,
                                               std::span<const std::byte> data) {
  // One copy, because a hostile pickle may name thousands of storages.
  std::shared_ptr<Storage> copy;
  const StorageLoader load = [&](std::string_view, size_t,
                                 uint64_t) -> Result<std::shared_ptr<Storage>> {
    if (copy != nullptr) return copy;
    copy = Storage::allocate(data.size());
    if (!data.empty()) std::memcpy(copy->data(), data.data(), data.size());
    return copy;
  };
  Unpickler inner(pickle, mode_, load, limits_);
  PT2_TRY_VOID(run_inside(inner));
  auto& found =
      std::get<std::unique_ptr<PickleObject>>(inner.graph_->nodes[inner.graph_->root].payload);
  return add(PickleKind::storage, std::move(found));
}

Result<PickleId> Unpickler::read_storage_file(std::span<const std::byte> bytes) {
  if (is_inside_)
    return error(ErrorCode::unsupported, "found a storage inside the bytes of a storage");
  size_t place = 0, storage_place = 0;
  for (size_t part = 0; part < static_cast<size_t>(Part::count); ++part) {
    if (part == static_cast<size_t>(Part::storage)) storage_place = place;
    PT2_TRY(const size_t length, follow_inside(bytes.subspan(place), part));
    place += length;
  }
  ByteCursor data(bytes, place);
  data.read<uint64_t>();  // the number of elements, which the storage's pickle records too
  if (data.failed()) return error(ErrorCode::corrupt, "the bytes of a storage are cut off");
  if (follows_) return add(PickleKind::storage, std::make_unique<PickleObject>());
  return read_inner_storage(bytes.subspan(storage_place), bytes.subspan(data.position()));
}

// Bytes that are no storage in PyTorch's form may be anything that torch.load runs, so a listing
// notes the call.
Result<PickleId> Unpickler::load_from_bytes(const KnownGlobal& known, Args args) {
  const bool is_bytes = args.size() == 1 && node(args[0]).kind == PickleKind::bytes;
  const auto* text = is_bytes ? std::get_if<std::string>(&node(args[0]).payload) : nullptr;
  Result<PickleId> made = wrong_arguments(known.name);
  if (text != nullptr) {
    PT2_TRY_VOID(charge(text->size()));
    made = read_storage_file(std::as_bytes(std::span(*text)));
  }
  if (made || mode_ != PickleMode::listing || made.error().code == ErrorCode::limit) return made;
  note_call(known.name, args);
  return forget_making(add_object(known.name, args, true));
}

}  // namespace pt2
