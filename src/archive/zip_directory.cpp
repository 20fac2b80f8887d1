#include "archive/zip_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "archive/zip_format.h"
#include "base/byte_cursor.h"
#include "base/printable.h"

namespace pt2::zip {
namespace {

using Bytes = std::span<const std::byte>;

struct Directory {
  uint64_t entries = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  // The start of the first end record, directly after the directory.
  uint64_t end = 0;
};

struct EndRecord {
  uint64_t position = 0;
  uint16_t disk = 0;
  uint16_t directory_disk = 0;
  uint16_t disk_entries = 0;
  uint16_t entries = 0;
  uint32_t directory_size = 0;
  uint32_t directory_offset = 0;
  uint16_t comment_bytes = 0;
};

Error fault(ErrorCode code, std::string message, uint64_t position) {
  return {code, std::move(message), fmt::format("byte {}", position)};
}

template <class T>
T peek(Bytes bytes, uint64_t position) {
  return ByteCursor(bytes, position).read<T>();
}

// Finds the last end record of the file. A comment of up to 65535 bytes, or as many appended bytes,
// may follow it.
Result<EndRecord> find_end(Bytes bytes) {
  constexpr uint64_t kSearched = kEndBytes + 0xFFFF;
  const uint64_t first = bytes.size() > kSearched ? bytes.size() - kSearched : 0;
  for (uint64_t position = bytes.size(); position-- > first;) {
    if (peek<uint32_t>(bytes, position) != kEnd) continue;
    ByteCursor cursor(bytes, position + sizeof(kEnd));
    EndRecord end{.position = position};
    end.disk = cursor.read<uint16_t>();
    end.directory_disk = cursor.read<uint16_t>();
    end.disk_entries = cursor.read<uint16_t>();
    end.entries = cursor.read<uint16_t>();
    end.directory_size = cursor.read<uint32_t>();
    end.directory_offset = cursor.read<uint32_t>();
    end.comment_bytes = cursor.read<uint16_t>();
    cursor.read_bytes(end.comment_bytes);
    if (cursor.failed())
      return fault(ErrorCode::corrupt, "the zip end record is cut off", position);
    return end;
  }
  const bool starts_as_zip = peek<uint32_t>(bytes, 0) == kLocalHeader;
  if (starts_as_zip)
    return fault(ErrorCode::corrupt, "found no zip end record: the file is cut off", bytes.size());
  return fault(ErrorCode::malformed, "found no zip end record: not a zip file", 0);
}

// Reads the ZIP64 end record to which a locator before the end record points; nothing if there is
// no locator.
Result<std::optional<Directory>> read_end64(Bytes bytes, const EndRecord& end) {
  const std::optional<Directory> none;
  if (end.position < kEnd64LocatorBytes) return none;
  const uint64_t locator = end.position - kEnd64LocatorBytes;
  ByteCursor locator_cursor(bytes, locator);
  if (locator_cursor.read<uint32_t>() != kEnd64Locator) return none;
  const auto disk = locator_cursor.read<uint32_t>();
  const auto position = locator_cursor.read<uint64_t>();
  const auto disks = locator_cursor.read<uint32_t>();
  if (disk != 0 || disks > 1)
    return fault(ErrorCode::unsupported, "the zip file is split over several disks", locator);

  ByteCursor cursor(bytes.first(locator), position);
  const auto signature = cursor.read<uint32_t>();
  const auto rest = cursor.read<uint64_t>();
  if (signature != kEnd64 || rest != cursor.remaining() || rest + 12 < kEnd64Bytes)
    return fault(
        ErrorCode::corrupt,
        fmt::format("found no ZIP64 end record at byte {}, where its locator points", position),
        locator);
  cursor.read<uint32_t>();  // versions
  const auto this_disk = cursor.read<uint32_t>();
  const auto directory_disk = cursor.read<uint32_t>();
  const auto disk_entries = cursor.read<uint64_t>();
  Directory directory;
  directory.entries = cursor.read<uint64_t>();
  directory.size = cursor.read<uint64_t>();
  directory.offset = cursor.read<uint64_t>();
  directory.end = position;
  if (this_disk != 0 || directory_disk != 0 || disk_entries != directory.entries)
    return fault(ErrorCode::unsupported, "the zip file is split over several disks", position);
  return std::optional(directory);
}

// True if both end records give the same directory: some readers use only one of them.
bool agree(const EndRecord& end, const Directory& directory) {
  return (end.entries == kCountIn64 || end.entries == directory.entries) &&
         (end.directory_size == kIn64 || end.directory_size == directory.size) &&
         (end.directory_offset == kIn64 || end.directory_offset == directory.offset);
}

Result<void> check_place(Bytes bytes, const Directory& directory) {
  const bool inside = directory.offset <= directory.end && directory.size <= directory.end;
  if (inside && directory.offset + directory.size == directory.end) return {};
  if (peek<uint32_t>(bytes, 0) != kLocalHeader && inside &&
      directory.offset + directory.size < directory.end)
    return fault(ErrorCode::corrupt,
                 fmt::format("found {} bytes in front of the zip file, which moved its offsets",
                             directory.end - directory.offset - directory.size),
                 0);
  return fault(
      ErrorCode::corrupt,
      fmt::format(
          "the directory of {} bytes at byte {} should end here: the file is cut off or was joined "
          "with another",
          directory.size, directory.offset),
      directory.end);
}

Result<Directory> locate_directory(Bytes bytes, const Limits& limits, Diagnostics& diagnostics) {
  PT2_TRY(const EndRecord end, find_end(bytes));
  PT2_TRY(const std::optional<Directory> end64, read_end64(bytes, end));
  const Directory directory = end64.value_or(Directory{.entries = end.entries,
                                                       .offset = end.directory_offset,
                                                       .size = end.directory_size,
                                                       .end = end.position});
  if (end.disk != 0 || end.directory_disk != 0 || end.disk_entries != end.entries)
    return fault(ErrorCode::unsupported, "the zip file is split over several disks", end.position);
  if (!agree(end, directory))
    return fault(ErrorCode::corrupt, "the zip end record and the ZIP64 end record disagree",
                 end.position);
  PT2_TRY_VOID(check_place(bytes, directory));
  if (directory.entries > directory.size / kDirectoryRecordBytes)
    return fault(ErrorCode::corrupt,
                 fmt::format("found {} entries in a directory of {} bytes", directory.entries,
                             directory.size),
                 directory.offset);
  if (directory.entries > limits.max_entries)
    return fault(ErrorCode::limit,
                 fmt::format("found {} entries, more than max_entries {}", directory.entries,
                             limits.max_entries),
                 directory.offset);
  const uint64_t used = end.position + kEndBytes + end.comment_bytes;
  if (used < bytes.size())
    diagnostics.add(Rule::trailing_bytes, fmt::format("byte {}", used),
                    fmt::format("found {} bytes after the zip file's end", bytes.size() - used));
  return directory;
}

// The fields that central and local headers share.
struct Header {
  uint16_t flags = 0;
  uint16_t method = 0;
  uint32_t crc = 0;
  uint64_t compressed_size = 0;
  uint64_t size = 0;
  uint64_t offset = 0;
};

// Replaces numbers that did not fit by those of the ZIP64 extra field, which holds only these
// numbers, in this order.
Result<void> apply_extra64(Bytes extra, Header& header) {
  ByteCursor fields(extra);
  while (!fields.failed() && fields.remaining() >= 4) {
    const auto id = fields.read<uint16_t>();
    ByteCursor field(fields.read_bytes(fields.read<uint16_t>()));
    if (id != kExtra64 || fields.failed()) continue;
    for (uint64_t* number : {&header.size, &header.compressed_size, &header.offset})
      if (*number == kIn64) *number = field.read<uint64_t>();
    if (field.failed()) return Error{ErrorCode::corrupt, "the ZIP64 extra field is too short", ""};
    return {};
  }
  return {};
}

Result<void> check_features(const Header& header) {
  if (header.flags & (kFlagEncrypted | kFlagStrongEncryption | kFlagMaskedHeader))
    return Error{ErrorCode::unsupported, "the entry is encrypted", ""};
  if (header.flags & kFlagPatch) return Error{ErrorCode::unsupported, "the entry is a patch", ""};
  if (header.method != kStored && header.method != kDeflated)
    return Error{ErrorCode::unsupported,
                 fmt::format("found compression method {}, expected 0 (stored) or 8 (deflated)",
                             header.method),
                 ""};
  return {};
}

Result<void> check_local(Bytes bytes, uint64_t limit, uint16_t flags, Entry& entry) {
  const auto corrupt = [](std::string message) {
    return Error{ErrorCode::corrupt, std::move(message), ""};
  };
  ByteCursor cursor(bytes.first(limit), entry.header_offset);
  if (cursor.read<uint32_t>() != kLocalHeader)
    return corrupt(fmt::format("found no local header at byte {}", entry.header_offset));
  cursor.read<uint16_t>();
  Header local;
  local.flags = cursor.read<uint16_t>();
  local.method = cursor.read<uint16_t>();
  cursor.read<uint32_t>();
  local.crc = cursor.read<uint32_t>();
  local.compressed_size = cursor.read<uint32_t>();
  local.size = cursor.read<uint32_t>();
  const auto name_bytes = cursor.read<uint16_t>();
  const auto extra_bytes = cursor.read<uint16_t>();
  const std::string_view name = cursor.read_text(name_bytes);
  const Bytes extra = cursor.read_bytes(extra_bytes);
  if (cursor.failed()) return corrupt("the local header is cut off");
  if (name != entry.name)
    return corrupt(fmt::format("its local header has the name {}", printable(name)));
  PT2_TRY_VOID(check_features(local));
  if (local.method != (entry.deflated ? kDeflated : kStored) ||
      ((local.flags ^ flags) & kFlagDescriptor))
    return corrupt("its local header differs in flags or compression");
  PT2_TRY_VOID(apply_extra64(extra, local));
  const bool same = local.crc == entry.crc && local.size == entry.size &&
                    local.compressed_size == entry.compressed_size;
  if (!(local.flags & kFlagDescriptor) && !same)
    return corrupt("its local header differs in sizes or CRC-32");
  entry.data_offset = cursor.position();
  if (entry.compressed_size > cursor.remaining())
    return corrupt(fmt::format("the entry has {} bytes, but {} are left before the directory",
                               entry.compressed_size, cursor.remaining()));
  return {};
}

Result<void> check_name(std::string_view name, const Limits& limits) {
  if (name.size() > limits.max_name_bytes)
    return Error{ErrorCode::limit,
                 fmt::format("the name has {} bytes, more than max_name_bytes {}", name.size(),
                             limits.max_name_bytes),
                 ""};
  const std::string_view fault = name_fault(name);
  if (!fault.empty())
    return Error{ErrorCode::malformed, fmt::format("the entry's name {}", fault), ""};
  return {};
}

// The fields of a directory record. read_record returns nothing if the record is cut off.
struct DirectoryRecord {
  Header header;
  std::string_view name;
  Bytes extra;
  uint16_t disk = 0;
};
std::optional<DirectoryRecord> read_record(ByteCursor& cursor) {
  DirectoryRecord record;
  if (cursor.read<uint32_t>() != kDirectoryRecord) return std::nullopt;
  cursor.read<uint32_t>();
  record.header.flags = cursor.read<uint16_t>();
  record.header.method = cursor.read<uint16_t>();
  cursor.read<uint32_t>();
  record.header.crc = cursor.read<uint32_t>();
  record.header.compressed_size = cursor.read<uint32_t>();
  record.header.size = cursor.read<uint32_t>();
  const auto name_bytes = cursor.read<uint16_t>();
  const auto extra_bytes = cursor.read<uint16_t>();
  const auto comment_bytes = cursor.read<uint16_t>();
  record.disk = cursor.read<uint16_t>();
  cursor.read_bytes(6);
  record.header.offset = cursor.read<uint32_t>();
  record.name = cursor.read_text(name_bytes);
  record.extra = cursor.read_bytes(extra_bytes);
  cursor.read_bytes(comment_bytes);
  if (cursor.failed()) return std::nullopt;
  return record;
}

Result<Entry> make_entry(Bytes bytes, const Directory& directory, DirectoryRecord record,
                         const Limits& limits) {
  Header& header = record.header;
  PT2_TRY_VOID(check_name(record.name, limits));
  PT2_TRY_VOID(check_features(header));
  if (record.disk != 0) return Error{ErrorCode::unsupported, "the entry lies on another disk", ""};
  PT2_TRY_VOID(apply_extra64(record.extra, header));
  if (header.method == kStored && header.size != header.compressed_size)
    return Error{
        ErrorCode::corrupt,
        fmt::format("a stored entry of {} bytes takes {}", header.size, header.compressed_size),
        ""};
  Entry entry{.name = std::string(record.name),
              .size = header.size,
              .compressed_size = header.compressed_size,
              .header_offset = header.offset,
              .data_offset = 0,
              .crc = header.crc,
              .deflated = header.method == kDeflated};
  PT2_TRY_VOID(check_local(bytes, directory.offset, header.flags, entry));
  return entry;
}

}  // namespace

Result<CentralDirectory> read_directory(Bytes bytes, const Limits& limits,
                                        Diagnostics& diagnostics) {
  PT2_TRY(const Directory directory, locate_directory(bytes, limits, diagnostics));
  ByteCursor cursor(bytes.first(directory.end), directory.offset);
  std::vector<Entry> entries;
  entries.reserve(directory.entries);
  while (entries.size() < directory.entries) {
    const uint64_t position = cursor.position();
    const std::optional<DirectoryRecord> record = read_record(cursor);
    if (!record) return fault(ErrorCode::corrupt, "the directory is damaged or cut off", position);
    Result<Entry> entry = make_entry(bytes, directory, *record, limits);
    if (!entry) return at(std::move(entry).error(), printable(record->name));
    entries.push_back(*std::move(entry));
  }
  if (!cursor.at_end())
    return fault(ErrorCode::corrupt,
                 fmt::format("found {} bytes after the directory's last entry", cursor.remaining()),
                 cursor.position());
  return CentralDirectory{directory.offset, std::move(entries)};
}

}  // namespace pt2::zip
