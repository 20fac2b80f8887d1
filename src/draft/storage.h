// The draft's storages: bytes inside the JSON or in a file beside it, in big-endian order.
#ifndef PT2_DRAFT_STORAGE_H
#define PT2_DRAFT_STORAGE_H

#include <string>

#include "pt2/format/draft.h"

namespace pt2 {

// Swaps the byte order of the tensor's bytes between the machine's order and big-endian. The
// function is its own inverse.
void swap_byte_order(std::span<std::byte> bytes, Dtype dtype);

std::string print_checksum(std::span<const std::byte> bytes);  // "crc32:0123abcd"

}  // namespace pt2

#endif  // PT2_DRAFT_STORAGE_H
