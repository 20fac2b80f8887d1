// How payloads become records, in each archive layout.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pt2/pickle_write.h"
#include "pt2/save.h"

namespace pt2 {

// The writer of one package, and the folder that its records lie in.
struct PackageWriter {
  ZipWriter zip;
  std::string prefix{};  // "model/", or "" in a flat archive

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

// 2.9 on: a record for each storage, then the config that says where each tensor lies in them.
Result<void> write_raw_weights(PackageWriter& writer, const SavedProgram& program);
Result<void> write_raw_constants(PackageWriter& writer, const SavedProgram& program);

// To 2.8: the parts of one torch.save file with a dict of the tensors; one part when it is taken as
// it is. The bytes of tensors are referred to, not copied.
Result<std::vector<Record>> pickle_tensors(const SavedTensors& tensors, PickleKind dict,
                                           TorchSaveFormat format, const Origin* origin);

}  // namespace pt2
