// The archive that bytes in memory are mapped from. Code that writes such bytes into another file
// can let the kernel copy them, keep holes as holes, and compare them on the way with the checksum
// that the archive states. Damage in the source is thus found while copying, without reading it
// twice.
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

// Reading is const and safe from any number of threads.
class Origin {
 public:
  // Opens the archive's file once more, until the origin is destroyed. For bytes in memory, and for
  // a path that by now leads to another file, the origin `holds` nothing but still knows the
  // entries.
  explicit Origin(const Archive& archive);
  ~Origin();
  Origin(const Origin&) = delete;
  Origin& operator=(const Origin&) = delete;

  // Whether the bytes lie in the file, so that the functions below may be called.
  bool holds(std::span<const std::byte> bytes) const;
  int descriptor() const { return descriptor_; }
  uint64_t offset_of(std::span<const std::byte> bytes) const;
  // The longest start of the bytes that lies wholly in a hole of a sparse file, or wholly in data.
  // The bytes must not be empty.
  struct Extent {
    size_t size;
    bool is_hole;
  };
  Extent first_extent(std::span<const std::byte> bytes) const;
  // The beginning of the bytes, as many as fit. Error `io`, also for a file that was cut off.
  Result<std::span<const std::byte>> read(std::span<const std::byte> bytes,
                                          std::span<std::byte> buffer) const;
  // CRC-32, in little memory and without reading holes. Errors of `read`.
  Result<uint32_t> crc(std::span<const std::byte> bytes) const;

  // The stored entry whose whole content the bytes are; nullptr for others, and for none at all.
  // O(log entries).
  const Entry* entry_of(std::span<const std::byte> bytes) const;
  // Error `corrupt` at "file!record" when `found` is not the CRC-32 that the archive states for
  // these bytes. For a storage in a torch.save file the inner checksum is compared first. PyTorch
  // can be told not to compute it (torch.serialization.set_crc32_options); so on a mismatch the
  // whole record is compared with the archive's own checksum, which decides. Errors of `crc`.
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
