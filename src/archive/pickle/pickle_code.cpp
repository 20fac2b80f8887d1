#include "archive/pickle/pickle_code.h"

#include "archive/pickle/unpickler.h"
#include "pt2/format/archive.h"

namespace pt2 {

std::span<const ForeignCall> pickle_calls(const Pickle& pickle) { return pickle.graph_->calls; }

namespace {

// Follows the pickle that begins at `start`; returns where it ends.
size_t follow_pickle(std::span<const std::byte> bytes, size_t start, const Limits& limits,
                     PickleCode& code) {
  const StorageLoader none;
  Unpickler machine(bytes.subspan(start), PickleMode::listing, none, limits);
  if (auto followed = machine.follow(); !followed) code.stopped = std::move(followed).error();
  for (const auto& [found, out] : {std::pair(machine.calls(), &code.calls),
                                   std::pair(machine.expressions(), &code.expressions)})
    for (const ForeignCall& each : found) out->push_back({each.text, start + each.offset});
  for (const RefusedGlobal& each : machine.foreign_names())
    if (!each.name.starts_with("torch.")) code.names.push_back({each.name, start + each.offset});
  return start + machine.position();
}

// torch/serialization.py, _legacy_load: magic number, protocol, machine, the object, and the keys
// of its storages, whose data follows.
PickleCode follow_legacy(std::span<const std::byte> bytes, const Limits& limits) {
  constexpr int kPickles = 5;
  PickleCode code;
  size_t place = 0;
  for (int i = 0; i < kPickles && place < bytes.size() && !code.stopped; ++i)
    place = follow_pickle(bytes, place, limits, code);
  if (!code.stopped)
    code.stopped = Error{ErrorCode::malformed, "this is not a zip file that torch.save wrote", ""};
  return code;
}

}  // namespace

PickleCode find_pickle_code(std::span<const std::byte> bytes, const Limits& limits) {
  PickleCode code;
  follow_pickle(bytes, 0, limits, code);
  return code;
}

PickleCode find_saved_code(const Record& record, const Limits& limits) {
  if (record.bytes.empty()) return {};
  if (!record.text().starts_with("PK"))
    return follow_legacy(record.bytes, record.limits_inside(limits));
  const Result<Record> pickle = read_saved_pickle(record, limits);
  if (!pickle) return {.calls = {}, .expressions = {}, .names = {}, .stopped = pickle.error()};
  return find_pickle_code(pickle->bytes, pickle->limits_inside(limits));
}

}  // namespace pt2
