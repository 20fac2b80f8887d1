// The text that PyTorch's writers put into .data/serialization_id. Nobody checks it, but files with
// the same contents should be the same. Imitates PyTorchStreamWriter::writeSerializationId
// (caffe2/serialize/inline_container.cc) as it behaves in PyTorch's Linux builds.
#ifndef PT2_ARCHIVE_SERIALIZATION_ID_H
#define PT2_ARCHIVE_SERIALIZATION_ID_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pt2 {

class SerializationId {
 public:
  // Adds the next entry of the archive; its name begins with the root folder.
  void add(std::string_view name, uint64_t size, uint32_t crc);
  std::string text() const;

 private:
  std::vector<uint64_t> name_hashes_;
  uint64_t combined_crc_ = 0;
};

}  // namespace pt2

#endif  // PT2_ARCHIVE_SERIALIZATION_ID_H
