// The archive from which bytes in memory are mapped. Code that copies such bytes to another file
// can let the operating system copy them, keep holes of sparse files, and compare the bytes with
// the checksum in the archive. Copying thus detects damage in the source without reading it twice.
#ifndef PT2_FORMAT_ORIGIN_H
#define PT2_FORMAT_ORIGIN_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pt2/format/archive.h"
#include "pt2/format/zip.h"
#include "pt2/result.h"

namespace pt2 {

// Any number of threads may read at once.
class Origin {
 public:
  // Opens the file of the archive a second time, until the origin is destroyed. If the archive is
  // in memory, or the path leads to another file by now, `holds` is false for all bytes, but the
  // origin still knows the entries.
  explicit Origin(const Archive& archive);
  ~Origin();
  Origin(const Origin&) = delete;
  Origin& operator=(const Origin&) = delete;

  // True if the bytes lie in the file. The functions below, up to crc, need such bytes.
  bool holds(std::span<const std::byte> bytes) const;
  int descriptor() const { return descriptor_; }
  // Returns the offset of the bytes in the file.
  uint64_t offset_of(std::span<const std::byte> bytes) const;
  // Returns the longest prefix of the bytes that lies completely in a hole of a sparse file, or
  // completely in data. The bytes must not be empty.
  struct Extent {
    size_t size;
    bool is_hole;
  };
  Extent first_extent(std::span<const std::byte> bytes) const;
  // Reads the first bytes, as many as fit into `buffer`, and returns them. Error `io`, also if the
  // file was truncated.
  Result<std::span<const std::byte>> read(std::span<const std::byte> bytes,
                                          std::span<std::byte> buffer) const;
  // Returns the CRC-32. Uses little memory and does not read holes. Errors: those of `read`.
  Result<uint32_t> crc(std::span<const std::byte> bytes) const;

  // Returns the stored entry whose whole content is `bytes`; nullptr if there is none or `bytes` is
  // empty. O(log entries).
  const Entry* entry_of(std::span<const std::byte> bytes) const;
  // Compares `found` with the CRC-32 that the archive has for these bytes. Error `corrupt` at
  // "file!record" if they differ. For a storage in a torch.save file, the inner checksum is
  // compared first. PyTorch may have skipped it (torch.serialization.set_crc32_options). So after a
  // mismatch the whole record is compared with the checksum of the archive, which decides. Errors:
  // those of `crc`.
  Result<void> check_crc(std::span<const std::byte> bytes, uint32_t found) const;

 private:
  // A storage in a torch.save file.
  struct Nested {
    uint64_t offset;  // in the archive's file
    uint64_t size;
    uint32_t crc;
    const Entry* record;
  };
  void add_nested(const Entry& record, const Limits& limits);
  uint64_t offset_in_zip(std::span<const std::byte> bytes) const;
  Result<void> compare(const Entry& entry, uint32_t found) const;
  Error io_error(std::string message) const;

  ZipReader zip_;
  std::shared_ptr<const MappedFile> file_;
  std::string name_;
  std::vector<const Entry*> by_offset_;  // stored entries with content
  std::vector<Nested> nested_;           // by offset
  int descriptor_ = -1;
};

}  // namespace pt2

#endif  // PT2_FORMAT_ORIGIN_H
