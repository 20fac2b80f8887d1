// Builds zip files with wrong fields. Every field of a header can be replaced.
#ifndef PT2_TESTS_ARCHIVE_ZIP_BUILDER_H
#define PT2_TESTS_ARCHIVE_ZIP_BUILDER_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "archive/zip_format.h"

namespace pt2::test {

template <class T>
void put(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i)
    out += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
}

struct BuiltEntry {
  std::string name = {};
  std::string data = {};
  uint32_t crc = 0;
  uint16_t method = 0;
  uint16_t flags = 0;
  uint32_t size = 0;       // of the content
  std::string extra = {};  // of the directory record
  std::optional<std::string> local_name = {};
  std::optional<uint32_t> stated_size = {};             // directory only
  std::optional<uint32_t> stated_compressed_size = {};  // directory only
  std::optional<uint32_t> stated_offset = {};
};

struct BuiltZip {
  std::vector<BuiltEntry> entries;
  std::string comment = {};
  std::optional<uint16_t> stated_entries = {};
  std::optional<uint32_t> stated_directory_offset = {};

  std::string bytes() const {
    std::string out;
    std::string directory;
    for (const BuiltEntry& entry : entries) add(entry, out, directory);
    const auto directory_offset = static_cast<uint32_t>(out.size());
    out += directory;
    put(out, zip::kEnd);
    put(out, uint32_t{0});
    const auto count = stated_entries.value_or(static_cast<uint16_t>(entries.size()));
    put(out, count);
    put(out, count);
    put(out, static_cast<uint32_t>(directory.size()));
    put(out, stated_directory_offset.value_or(directory_offset));
    put(out, static_cast<uint16_t>(comment.size()));
    return out + comment;
  }

 private:
  static void add(const BuiltEntry& entry, std::string& out, std::string& directory) {
    const auto offset = static_cast<uint32_t>(out.size());
    const auto data_size = static_cast<uint32_t>(entry.data.size());
    const std::string& local_name = entry.local_name ? *entry.local_name : entry.name;
    const bool later = (entry.flags & zip::kFlagDescriptor) != 0;
    put(out, zip::kLocalHeader);
    put(out, uint16_t{20});
    put_common(entry, later ? 0 : entry.crc, later ? 0 : data_size, later ? 0 : entry.size, out);
    put(out, static_cast<uint16_t>(local_name.size()));
    put(out, uint16_t{0});
    out += local_name + entry.data;
    if (later) {
      put(out, zip::kDataDescriptor);
      put(out, entry.crc);
      put(out, data_size);
      put(out, entry.size);
    }
    put(directory, zip::kDirectoryRecord);
    put(directory, uint32_t{20u << 16 | 20});
    put_common(entry, entry.crc, entry.stated_compressed_size.value_or(data_size),
               entry.stated_size.value_or(entry.size), directory);
    put(directory, static_cast<uint16_t>(entry.name.size()));
    put(directory, static_cast<uint16_t>(entry.extra.size()));
    directory.append(10, '\0');
    put(directory, entry.stated_offset.value_or(offset));
    directory += entry.name + entry.extra;
  }

  static void put_common(const BuiltEntry& entry, uint32_t crc, uint32_t compressed_size,
                         uint32_t size, std::string& out) {
    put(out, entry.flags);
    put(out, entry.method);
    put(out, uint32_t{0});
    put(out, crc);
    put(out, compressed_size);
    put(out, size);
  }
};

}  // namespace pt2::test

#endif  // PT2_TESTS_ARCHIVE_ZIP_BUILDER_H
