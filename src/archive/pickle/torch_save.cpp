#include <fmt/format.h>

#include "archive/pickle/pickle_code.h"
#include "archive/zip_format.h"
#include "base/printable.h"
#include "pt2/format/archive.h"
#include "pt2/format/pickle.h"

namespace pt2 {
namespace {

// "N.": the pickle of None.
constexpr std::byte kPickledNone[] = {std::byte{'N'}, std::byte{'.'}};

struct SavedFile {
  ZipReader zip;
  std::string root;

  const Entry* find(std::string_view name) const {
    return zip.find(fmt::format("{}/{}", root, name));
  }
  // After torch.serialization.set_crc32_options(False) torch.save leaves all checksums 0.
  Result<Record> read(const Entry& entry) const { return zip.read(entry, entry.crc != 0); }
};

Result<SavedFile> open_saved(const Record& record, const Limits& limits) {
  SavedFile file;
  // Trailing bytes and compression were reported for the outer file.
  Diagnostics ignored;
  PT2_TRY(file.zip, ZipReader::open(record, limits, ignored));
  if (!file.zip.entries().empty()) {
    const std::string& first = file.zip.entries().front().name;
    file.root = first.substr(0, first.find('/'));
  }
  if (file.find("constants.pkl") != nullptr)
    return Error{ErrorCode::unsupported, "this is a TorchScript file, expected one of torch.save",
                 ""};
  if (const Entry* entry = zip::find_other_case(file.zip.entries()))
    return Error{ErrorCode::malformed, std::string(zip::kOtherCaseFault), printable(entry->name)};
  if (file.find("data.pkl") == nullptr)
    return Error{ErrorCode::malformed, "found no data.pkl: not a file of torch.save", ""};
  return file;
}

Result<void> check_byte_order(const SavedFile& file) {
  const Entry* entry = file.find("byteorder");
  if (entry == nullptr) return {};
  PT2_TRY(const Record order, file.read(*entry));
  if (order.text() == "little") return {};
  return Error{ErrorCode::unsupported,
               fmt::format("found '{}', expected 'little'", printable(order.text())), entry->name};
}

}  // namespace

Result<Record> read_saved_pickle(const Record& record, const Limits& limits) {
  PT2_TRY(const SavedFile file, open_saved(record, limits));
  return file.read(*file.find("data.pkl"));
}

Result<Pickle> read_torch_save(const Record& record, PickleMode mode, const Limits& limits) {
  if (record.bytes.empty()) return read_pickle(kPickledNone, mode, {}, limits);
  PT2_TRY(const SavedFile file, open_saved(record, limits));
  PT2_TRY_VOID(check_byte_order(file));
  const StorageLoader load = [&](std::string_view key, size_t alignment,
                                 uint64_t) -> Result<std::shared_ptr<Storage>> {
    const Entry* entry = file.find(fmt::format("data/{}", key));
    if (entry == nullptr)
      return Error{ErrorCode::corrupt, fmt::format("found no record data/{}", printable(key)), ""};
    PT2_TRY(const Record bytes, file.zip.read(*entry, false));
    return make_storage(bytes, mode == PickleMode::in_place ? 1 : alignment);
  };
  const Entry& program = *file.find("data.pkl");
  PT2_TRY(const Record bytes, file.read(program));
  Result<Pickle> pickle = read_pickle(bytes.bytes, mode, load, bytes.limits_inside(limits));
  if (pickle) return pickle;
  return at(std::move(pickle).error(), printable(program.name) + ":");
}

}  // namespace pt2
