// The structure of a zip file: end records, central directory, local headers.
#ifndef PT2_ARCHIVE_ZIP_DIRECTORY_H
#define PT2_ARCHIVE_ZIP_DIRECTORY_H

#include "pt2/format/zip.h"

namespace pt2::zip {

struct CentralDirectory {
  uint64_t offset = 0;
  std::vector<Entry> entries{};
};

// Reads every entry that has a safe name, a known compression, and contents that lie before the
// directory and agree with their local header. The caller checks overlaps, duplicates and inflation
// limits. Adds V101.
Result<CentralDirectory> read_directory(std::span<const std::byte> bytes, const Limits& limits,
                                        Diagnostics& diagnostics);

// Error `corrupt` unless `found` is the CRC-32 that the directory states.
Result<void> compare_crc(const Entry& entry, uint32_t found);

}  // namespace pt2::zip

#endif  // PT2_ARCHIVE_ZIP_DIRECTORY_H
