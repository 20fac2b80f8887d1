// CRC-32 as zip files have it, at the speed of memory: all weights pass through it when a file is
// verified.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace pt2 {

// Continues `crc`, which is 0 at first.
uint32_t crc32(uint32_t crc, std::span<const std::byte> bytes);

}  // namespace pt2
