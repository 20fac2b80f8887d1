#include "archive/pickle/pickle_code.h"

#include "archive/pickle/unpickler.h"
#include "pt2/format/archive.h"

namespace pt2 {

std::span<const ForeignCall> pickle_calls(const Pickle& pickle) { return pickle.graph_->calls; }

PickleCode find_pickle_code(std::span<const std::byte> bytes, const Limits& limits) {
  const StorageLoader none;
  Unpickler machine(bytes, PickleMode::listing, none, limits);
  PickleCode code;
  if (auto followed = machine.follow(); !followed) code.stopped = std::move(followed).error();
  code.calls.assign(machine.calls().begin(), machine.calls().end());
  return code;
}

PickleCode find_saved_code(const Record& record, const Limits& limits) {
  if (record.bytes.empty()) return {};
  if (!record.text().starts_with("PK")) {
    // torch/serialization.py, _legacy_load: the first of several pickles is a magic number.
    PickleCode code = find_pickle_code(record.bytes, limits);
    if (!code.stopped)
      code.stopped = Error{ErrorCode::malformed, "this is no zip file of torch.save", ""};
    return code;
  }
  const Result<Record> pickle = read_saved_pickle(record, limits);
  if (!pickle) return {.calls = {}, .stopped = pickle.error()};
  return find_pickle_code(pickle->bytes, limits);
}

}  // namespace pt2
