#include "archive/pickle/legacy_save.h"

#include <fmt/format.h>

#include <map>

#include "archive/pickle/unpickler.h"
#include "base/printable.h"
#include "pt2/format/archive.h"
#include "pt2/format/pickle.h"

namespace pt2 {
namespace {

// The pickles and storages of a file, read one after another.
class LegacyFile {
 public:
  LegacyFile(const Record& record, const Limits& limits)
      : record_(record), limits_(record.limits_inside(limits)), rest_(record.bytes) {}

  Result<Pickle> read(PickleMode mode) {
    PT2_TRY_VOID(read_preamble());
    PT2_TRY(const std::span<const std::byte> pickle, take_pickle());
    // How many bytes a storage has is known only from the pickle before it, which wants the
    // storage: a first reading finds the numbers, and takes the whole file for each storage.
    const StorageLoader measure = [&](std::string_view key, size_t,
                                      uint64_t bytes) -> Result<std::shared_ptr<Storage>> {
      if (bytes > record_.bytes.size())
        return Error{ErrorCode::corrupt, "the file ends inside its elements", ""};
      sizes_.emplace(key, bytes);
      return Storage::borrow_read_only(record_.bytes, record_.owner);
    };
    PT2_TRY_VOID(read_pickle(pickle, mode, measure, limits_));
    PT2_TRY_VOID(read_storages());
    const StorageLoader load = [&](std::string_view key, size_t alignment,
                                   uint64_t) -> Result<std::shared_ptr<Storage>> {
      const auto found = storages_.find(key);
      if (found == storages_.end()) return Error{ErrorCode::corrupt, "the file lacks it", ""};
      return make_storage({.bytes = found->second, .owner = record_.owner}, alignment);
    };
    return read_pickle(pickle, mode, load, limits_);
  }

 private:
  Result<void> read_preamble() {
    PT2_TRY(const Pickle magic, take_value());
    if (!magic.root().is(PickleKind::big_integer) || magic.root().text() != kLegacyMagicNumber)
      return Error{ErrorCode::malformed, "this is not a file of torch.save", ""};
    PT2_TRY(const Pickle protocol, take_value());
    if (!protocol.root().is(PickleKind::integer) || protocol.root().as_int() != kLegacyProtocol)
      return Error{
          ErrorCode::unsupported,
          fmt::format("found another protocol of torch.save, expected {}", kLegacyProtocol), ""};
    PT2_TRY(const Pickle machine, take_value());
    const PickleValue facts = machine.root();
    for (size_t i = 0; i < facts.dict_size(); ++i)
      if (facts.key(i).is(PickleKind::string) && facts.key(i).text() == kLegacyByteOrder &&
          facts.value(i).is(PickleKind::boolean) && !facts.value(i).as_bool())
        return Error{ErrorCode::unsupported, "its storages are big-endian", ""};
    return {};
  }

  Result<void> read_storages() {
    PT2_TRY(const Pickle keys, take_value());
    if (!keys.root().is(PickleKind::list)) return wrong_keys();
    for (size_t i = 0; i < keys.root().size(); ++i) {
      const PickleValue key = keys.root()[i];
      const auto known = key.is(PickleKind::string) ? sizes_.find(key.text()) : sizes_.end();
      if (known == sizes_.end() || storages_.contains(known->first)) return wrong_keys();
      ByteCursor cursor(rest_);
      const auto elements = cursor.read<uint64_t>();
      const uint64_t bytes = known->second;
      if (cursor.failed() || bytes > cursor.remaining())
        return Error{ErrorCode::corrupt,
                     fmt::format("the file ends inside storage {}", printable(key.text())), ""};
      // One of at most 16 bytes each.
      if (elements == 0 ? bytes != 0 : bytes % elements != 0 || bytes / elements > 16)
        return Error{ErrorCode::invalid,
                     fmt::format("storage {} has {} elements, the pickle expects {} bytes",
                                 printable(key.text()), elements, bytes),
                     ""};
      storages_.emplace(key.text(), rest_.subspan(cursor.position(), bytes));
      rest_ = rest_.subspan(cursor.position() + bytes);
    }
    return {};
  }

  static Error wrong_keys() {
    return {ErrorCode::corrupt, "found no list of the keys of its storages after the value", ""};
  }

  Result<std::span<const std::byte>> take_pickle() {
    const StorageLoader none;
    Unpickler machine(rest_, PickleMode::listing, none, limits_);
    PT2_TRY_VOID(machine.follow());
    const std::span<const std::byte> pickle = rest_.first(machine.position());
    rest_ = rest_.subspan(machine.position());
    return pickle;
  }

  Result<Pickle> take_value() {
    PT2_TRY(const std::span<const std::byte> pickle, take_pickle());
    const StorageLoader none = [](std::string_view, size_t, uint64_t) {
      return Result<std::shared_ptr<Storage>>(
          Error{ErrorCode::malformed, "expected none in this pickle", ""});
    };
    return read_pickle(pickle, PickleMode::strict, none, limits_);
  }

  const Record& record_;
  Limits limits_;
  std::span<const std::byte> rest_;
  std::map<std::string, uint64_t, std::less<>> sizes_{};
  std::map<std::string, std::span<const std::byte>, std::less<>> storages_{};
};

}  // namespace

bool is_legacy_torch_save(std::span<const std::byte> bytes) {
  // Any protocol writes the magic number as these bytes, after a few opcodes.
  constexpr std::string_view kMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
  constexpr size_t kFirst = 32;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              std::min(bytes.size(), kFirst));
  return text.starts_with('\x80') && text.find(kMagic) != text.npos;
}

Result<Pickle> read_legacy_torch_save(const Record& record, PickleMode mode, const Limits& limits) {
  return LegacyFile(record, limits).read(mode);
}

}  // namespace pt2
