// The archive that bytes in memory are mapped from. Whoever writes such bytes into another file can
// let the kernel copy them, leave holes as holes, and compare them on the way with the checksum
// that the archive states: damage is found when a file is made from a damaged one, and costs no
// second reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pt2/archive.h"
#include "pt2/result.h"
#include "pt2/zip.h"

namespace pt2 {

// Reading is const and safe from any number of threads.
class Origin {
 public:
  // Opens the archive's file once more, until the origin is destroyed. An origin of bytes in
  // memory, or of a path that leads to another file by now, holds nothing and knows the entries.
  explicit Origin(const Archive& archive);
  ~Origin();
  Origin(const Origin&) = delete;
  Origin& operator=(const Origin&) = delete;

  // Whether the bytes lie in the file, so that the functions below may be called.
  bool holds(std::span<const std::byte> bytes) const;
  int descriptor() const { return descriptor_; }
  uint64_t offset_of(std::span<const std::byte> bytes) const;
  // How many of the bytes, which are not none, are alike: a hole of a sparse file, or not.
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
  // Error `corrupt` at "file!record" when that is not the entry's CRC-32.
  Result<void> check_crc(const Entry& entry, uint32_t found) const;
  // Reads the entry that the bytes are, if they are one, and compares. Errors of both.
  Result<void> verify(std::span<const std::byte> bytes) const;

 private:
  Error io_error(std::string message) const;

  ZipReader zip_;
  std::shared_ptr<const MappedFile> file_;
  std::string name_;
  std::vector<const Entry*> by_offset_;  // stored entries with content
  int descriptor_ = -1;
};

}  // namespace pt2
