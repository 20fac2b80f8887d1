// The numbers of the zip format (PKWARE APPNOTE 6.3) that reader and writer share, and the rules
// for names.
#ifndef PT2_ARCHIVE_ZIP_FORMAT_H
#define PT2_ARCHIVE_ZIP_FORMAT_H

#include <cstdint>
#include <span>
#include <string_view>

#include "pt2/format/zip.h"

namespace pt2::zip {

inline constexpr uint32_t kLocalHeader = 0x04034b50;
inline constexpr uint32_t kDataDescriptor = 0x08074b50;
inline constexpr uint32_t kDirectoryRecord = 0x02014b50;
inline constexpr uint32_t kEnd = 0x06054b50;
inline constexpr uint32_t kEnd64 = 0x06064b50;
inline constexpr uint32_t kEnd64Locator = 0x07064b50;

// True if the bytes begin as most zip files do: with the header of an entry.
inline bool begins_as_zip(std::string_view bytes) { return bytes.starts_with("PK\x03\x04"); }

inline constexpr uint64_t kLocalHeaderBytes = 30;
inline constexpr uint64_t kDirectoryRecordBytes = 46;
inline constexpr uint64_t kEndBytes = 22;
inline constexpr uint64_t kEnd64Bytes = 56;
inline constexpr uint64_t kEnd64LocatorBytes = 20;

// A field of all ones stands for a number in the ZIP64 extra field or end record.
inline constexpr uint32_t kIn64 = 0xFFFFFFFF;
inline constexpr uint16_t kCountIn64 = 0xFFFF;
inline constexpr uint16_t kExtra64 = 0x0001;

inline constexpr uint16_t kFlagEncrypted = 0x0001;
inline constexpr uint16_t kFlagDescriptor = 0x0008;
inline constexpr uint16_t kFlagPatch = 0x0020;
inline constexpr uint16_t kFlagStrongEncryption = 0x0040;
inline constexpr uint16_t kFlagUtf8 = 0x0800;
inline constexpr uint16_t kFlagMaskedHeader = 0x2000;

inline constexpr uint16_t kStored = 0;
inline constexpr uint16_t kDeflated = 8;

// Returns what is wrong with an entry name, "" if nothing: the name would leave the folder that it
// is unpacked into, or programs read it differently. PyTorch's reader checks none of this; its
// writer refuses the same names (miniz).
std::string_view name_fault(std::string_view name);
// The same for the name of a new file. It must not be that of a folder either, nor have unprintable
// characters; files that are read may have such names.
std::string_view new_file_name_fault(std::string_view name);

// Orders names without regard to the case of ASCII letters, as PyTorch's reader finds entries
// (miniz, mz_zip_reader_locate_file).
struct LessButForCase {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const;
};
// Returns an entry whose name equals another in this order; null if there is none. The fault is
// kOtherCaseFault.
const Entry* find_other_case(std::span<const Entry> entries);
inline constexpr std::string_view kOtherCaseFault =
    "another entry has this name but for the case of letters, which PyTorch's reader does not look "
    "at";

}  // namespace pt2::zip

#endif  // PT2_ARCHIVE_ZIP_FORMAT_H
