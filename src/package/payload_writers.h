// How payloads become records, in each archive layout.
#ifndef PT2_PACKAGE_PAYLOAD_WRITERS_H
#define PT2_PACKAGE_PAYLOAD_WRITERS_H

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/format/pickle_write.h"
#include "pt2/save.h"

namespace pt2 {

// The bytes of a storage, and the folder that they were written to.
struct WrittenStorage {
  const std::byte* data;
  size_t size;
  Dtype dtype;
  std::string folder;
  auto operator<=>(const WrittenStorage&) const = default;
};

// The writer of one package, and the folder that its records lie in.
struct PackageWriter {
  ZipWriter zip;
  std::string prefix{};  // "model/", or "" in a flat archive
  // Records of programs before, by what they hold, where PackageContents::shares_storages.
  bool shares_storages = false;
  std::map<WrittenStorage, std::string> storages{};

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

// One torch.save file as the layout of 2.9 on has it: plain tensors, and files of their own for
// other tensors and for TorchScript objects, whose parts keep alive what they refer to.
struct UnpackedPayloads {
  std::vector<SavedTensor> tensors{};
  std::vector<SavedObject> objects{};
  // Values that have no such form; `where` is the name.
  std::vector<Error> refused{};
};
// Of an empty record: nothing. Errors: those of read_torch_save, `invalid` for another value than a
// dict of names.
Result<UnpackedPayloads> unpack_torch_save(const Record& record);
// The other way: a value of the dict, in `builder`. `unsupported` for a fake tensor, for an opaque
// object, and for one whose state names classes or functions: TorchScript finds these among its
// own, while torch.load imports and calls them.
Result<PickleValue> packed_tensor(PickleBuilder& builder, const SavedTensor& saved);
Result<PickleValue> packed_object(PickleBuilder& builder, const SavedObject& object);

// 2.9 on: a record for each storage, then the config that says where each tensor lies in them.
Result<void> write_raw_weights(PackageWriter& writer, const SavedProgram& program);
Result<void> write_raw_constants(PackageWriter& writer, const SavedProgram& program);

// To 2.8: the parts of one torch.save file with a dict of the tensors and objects; one part when it
// is taken as it is. The bytes of tensors are referred to, not copied.
Result<std::vector<Record>> pickle_payloads(const SavedTensors& tensors,
                                            std::span<const SavedObject> objects, PickleKind dict,
                                            TorchSaveFormat format, const Origin* origin);

}  // namespace pt2

#endif  // PT2_PACKAGE_PAYLOAD_WRITERS_H
