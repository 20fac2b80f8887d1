// The form of torch.save from before zip files (torch/serialization.py, _legacy_save): pickles of a
// magic number, the protocol, the machine, the value, and the keys of its storages; then for each
// storage the number of elements and their bytes. torch.save still writes it on request, and
// pickled storages have it.
#ifndef PT2_ARCHIVE_PICKLE_LEGACY_SAVE_H
#define PT2_ARCHIVE_PICKLE_LEGACY_SAVE_H

#include <cstdint>
#include <string_view>

namespace pt2 {

constexpr std::string_view kLegacyMagicNumber = "119547037146038801333356";
constexpr int64_t kLegacyProtocol = 1001;
constexpr std::string_view kLegacyByteOrder = "little_endian";  // a key of the machine's dict

}  // namespace pt2

#endif  // PT2_ARCHIVE_PICKLE_LEGACY_SAVE_H
