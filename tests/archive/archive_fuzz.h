// Entry points for fuzzing. For any bytes they must return without reading out of bounds.
#ifndef PT2_TESTS_ARCHIVE_ARCHIVE_FUZZ_H
#define PT2_TESTS_ARCHIVE_ARCHIVE_FUZZ_H

#include <cstdlib>

#include "archive/pickle/pickle_code.h"
#include "pt2/format/archive.h"
#include "pt2/format/pickle.h"
#include "pt2/format/pickle_write.h"

namespace pt2::test {

// Small limits, so that one input cannot hold up a run of thousands of inputs a second.
inline Limits fuzz_limits() {
  Limits limits;
  limits.max_inflated_bytes = 1 << 20;
  limits.max_pickle_memory = 8 << 20;
  return limits;
}

inline void walk(const PickleValue& value, int depth, size_t& budget) {
  if (depth == 0 || budget == 0) return;
  --budget;
  for (size_t i = 0; i < value.size(); ++i) walk(value[i], depth - 1, budget);
  for (size_t i = 0; i < value.dict_size(); ++i) {
    walk(value.key(i), depth - 1, budget);
    walk(value.value(i), depth - 1, budget);
  }
  if (value.is(PickleKind::tensor) && value.tensor().tensor.defined() &&
      value.tensor().tensor.numel() < 4096)
    budget -=
        std::min<size_t>(budget, static_cast<size_t>(value.tensor().tensor.contiguous().numel()));
}

inline Result<std::shared_ptr<Storage>> fuzz_storage(std::string_view key, size_t, uint64_t) {
  if (key.size() > 2) return Error{ErrorCode::corrupt, "no such storage", ""};
  return Storage::allocate(256);
}

// A pickle that can be written must be read back and written again as the same bytes.
inline void write_again(const Pickle& pickle) {
  const Result<PickledBytes> written = write_pickle(pickle, fuzz_limits());
  if (!written) return;
  const Result<Pickle> again = read_pickle(std::as_bytes(std::span(written->bytes)),
                                           PickleMode::listing, fuzz_storage, fuzz_limits());
  if (!again && again.error().code != ErrorCode::limit && written->storages.size() <= 100)
    std::abort();
  if (!again) return;
  const Result<PickledBytes> twice = write_pickle(*again, fuzz_limits());
  if (!twice || twice->bytes != written->bytes) std::abort();
}

inline void use_pickle(const Pickle& pickle) {
  size_t budget = 20000;
  walk(pickle.root(), 100, budget);
  (void)flatten_sample_inputs(pickle, fuzz_limits());
}

// Following a pickle without its storages must find every call that reading it finds.
inline void follow_pickle(std::span<const std::byte> bytes) {
  const PickleCode code = find_pickle_code(bytes, fuzz_limits());
  const Result<Pickle> pickle =
      read_pickle(bytes, PickleMode::listing, fuzz_storage, fuzz_limits());
  if (pickle && code.calls.size() < pickle_calls(*pickle).size()) std::abort();
  if (pickle && code.stopped && code.stopped->code != ErrorCode::limit) std::abort();
}

inline void fuzz_pickle(std::span<const std::byte> bytes) {
  follow_pickle(bytes);
  for (PickleMode mode : {PickleMode::strict, PickleMode::listing}) {
    const Result<Pickle> pickle = read_pickle(bytes, mode, fuzz_storage, fuzz_limits());
    if (!pickle) continue;
    use_pickle(*pickle);
    write_again(*pickle);
  }
}

inline void fuzz_zip(std::span<const std::byte> bytes) {
  const Limits limits = fuzz_limits();
  Diagnostics findings;
  const Result<ZipReader> zip = ZipReader::open(bytes, nullptr, limits, findings);
  if (!zip) return;
  check_all_crcs(*zip, findings);
  const Result<Archive> archive = Archive::open_bytes(bytes, nullptr, "fuzz.pt2", limits);
  if (!archive) return;
  (void)archive->extra_files();
  for (const Entry& entry : zip->entries()) {
    const Result<Record> record = archive->read(archive->relative_name(entry));
    if (!record) continue;
    const Result<Pickle> pickle = read_torch_save(*record, PickleMode::listing, limits);
    if (pickle) use_pickle(*pickle);
  }
}

}  // namespace pt2::test

#endif  // PT2_TESTS_ARCHIVE_ARCHIVE_FUZZ_H
