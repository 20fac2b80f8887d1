#include <utility>

#include "base/mapped_file.h"
#include "pt2/format/zip.h"

namespace pt2 {

Record make_record(std::string bytes) {
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  const std::span<const std::byte> view = std::as_bytes(std::span(*owner));
  return {view, std::move(owner)};
}

Result<Record> map_file(const std::string& path) {
  PT2_TRY(std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  const std::span<const std::byte> bytes = file->bytes();
  return Record{bytes, std::move(file)};
}

Result<void> Sink::write_from(const Origin&, std::span<const std::byte> bytes) {
  return write_lasting(bytes);
}

Result<void> StringSink::write(std::span<const std::byte> bytes) {
  bytes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return {};
}

Result<void> StringSink::finish() { return {}; }

// Smaller pieces are copied: a copy costs less than a part of its own.
constexpr size_t kSmallPart = 4096;

Result<void> PartsSink::write(std::span<const std::byte> bytes) {
  copied_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return {};
}

bool PartsSink::remembers(std::span<const std::byte> bytes) const {
  return bytes.size() >= kSmallPart;
}

Result<void> PartsSink::write_lasting(std::span<const std::byte> bytes) {
  if (!remembers(bytes)) return write(bytes);
  end_copied_part();
  parts_.push_back({bytes, nullptr});
  return {};
}

Result<void> PartsSink::finish() {
  end_copied_part();
  return {};
}

void PartsSink::end_copied_part() {
  if (!copied_.empty()) parts_.push_back(make_record(std::move(copied_)));
  copied_.clear();
}

std::vector<Record> PartsSink::take() {
  end_copied_part();
  return std::move(parts_);
}

}  // namespace pt2
