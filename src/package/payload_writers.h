// Writes payloads as records, for each archive layout.
#ifndef PT2_PACKAGE_PAYLOAD_WRITERS_H
#define PT2_PACKAGE_PAYLOAD_WRITERS_H

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/format/pickle_write.h"
#include "pt2/save.h"

namespace pt2 {

// The bytes of a storage, and the folder of their record.
struct WrittenStorage {
  const std::byte* data;
  size_t size;
  Dtype dtype;
  std::string folder;
  auto operator<=>(const WrittenStorage&) const = default;
};

// The writer of one package, and the folder of its records.
struct PackageWriter {
  ZipWriter zip;
  std::string prefix{};  // "model/", or "" in a flat archive
  // Maps the storages of earlier programs to their records, if PackageContents::shares_storages.
  bool shares_storages = false;
  std::map<WrittenStorage, std::string> storages{};
  // The names of records other than payloads, which keep them.
  std::set<std::string, std::less<>> taken{};
  // The number of the next payload, by the part of its name before the number.
  std::map<std::string, size_t> numbers{};

  Result<void> add(std::string_view record, std::string_view text) {
    return zip.add(prefix + std::string(record), text);
  }
  Result<void> add(std::string_view record, std::span<const Record> parts) {
    return zip.add(prefix + std::string(record), parts);
  }
  Result<void> add(std::string_view record, const Record& content) {
    return add(record, std::span(&content, 1));
  }
};

// The content of one torch.save file in the form of the layout from 2.9 on: plain tensors, and
// separate files for other tensors and for TorchScript objects. The parts of these files keep alive
// the memory that they refer to.
struct UnpackedPayloads {
  std::vector<SavedTensor> tensors{};
  std::vector<SavedObject> objects{};
  // Values that have no such form; `where` is the value's name.
  std::vector<Error> refused{};
};
// Returns nothing for an empty record. Errors: those of read_torch_save; `invalid` for a value that
// is not a dict with names as keys.
Result<UnpackedPayloads> unpack_torch_save(const Record& record);
// The inverse: creates a value of the dict in `builder`. `unsupported` for a fake tensor, for an
// opaque object, and for an object whose state names classes or functions: TorchScript looks these
// up among its own, while torch.load imports and calls them.
Result<PickleValue> packed_tensor(PickleBuilder& builder, const SavedTensor& saved);
Result<PickleValue> packed_object(PickleBuilder& builder, const SavedObject& object);

// 2.9 on: write a record for each storage, then the config with the place of each tensor in them.
Result<void> write_raw_weights(PackageWriter& writer, const SavedProgram& program);
Result<void> write_raw_constants(PackageWriter& writer, const SavedProgram& program);

// To 2.8: returns the parts of one torch.save file with a dict of the tensors and objects; a single
// part if the file is taken as it is. Refers to the bytes of tensors instead of copying them.
Result<std::vector<Record>> pickle_payloads(const SavedTensors& tensors,
                                            std::span<const SavedObject> objects, PickleKind dict,
                                            TorchSaveFormat format, const Origin* origin);

}  // namespace pt2

#endif  // PT2_PACKAGE_PAYLOAD_WRITERS_H
