// CRC-32 of zip files, at the speed of memory: verification reads all weights through it.
#ifndef PT2_ARCHIVE_CRC32_H
#define PT2_ARCHIVE_CRC32_H

#include <cstddef>
#include <cstdint>
#include <span>

namespace pt2 {

// Continues `crc`, which is 0 at first.
uint32_t crc32(uint32_t crc, std::span<const std::byte> bytes);
// The result of crc32 for `count` zero bytes, without reading any. O(log count).
uint32_t crc32_of_zeros(uint32_t crc, uint64_t count);
// The CRC-32 of two messages in a row, from the second's checksum and size. O(log second_size).
uint32_t combine_crc32(uint32_t first, uint32_t second, uint64_t second_size);

}  // namespace pt2

#endif  // PT2_ARCHIVE_CRC32_H
