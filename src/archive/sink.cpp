#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/mapped_file.h"
#include "pt2/zip.h"

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

Result<void> StringSink::write(std::span<const std::byte> bytes) {
  bytes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return {};
}

Result<void> StringSink::finish() { return {}; }

// Below this a copy costs less than a part.
constexpr size_t kSmallPart = 4096;

Result<void> PartsSink::write(std::span<const std::byte> bytes) {
  copied_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return {};
}

Result<void> PartsSink::write_lasting(std::span<const std::byte> bytes) {
  if (bytes.size() < kSmallPart) return write(bytes);
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

FileSink::FileSink(std::string path, std::string temporary, int descriptor)
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}

// A renamed file is on the disk when its folder is. Not every file system can tell.
void sync_folder(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int descriptor =
      open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

Result<std::unique_ptr<FileSink>> FileSink::create(std::string path) {
  std::error_code ignored;
  const std::filesystem::path target = std::filesystem::canonical(path, ignored);
  if (!target.empty()) path = target.string();
  const bool replaceable = target.empty() || std::filesystem::is_regular_file(target, ignored);
  constexpr int kFlags = O_WRONLY | O_CLOEXEC;
  std::string temporary;
  int descriptor = -1;
  if (!replaceable) descriptor = open(path.c_str(), kFlags);
  for (int attempt = 0; replaceable && descriptor < 0 && attempt < 100; ++attempt) {
    temporary = fmt::format("{}.{}.{}.tmp", path, getpid(), attempt);
    descriptor = open(temporary.c_str(), kFlags | O_CREAT | O_EXCL, 0666);
    if (descriptor < 0 && errno != EEXIST) break;
  }
  if (descriptor < 0)
    return Error{ErrorCode::io, std::generic_category().message(errno), std::move(path)};
  struct stat old {};
  if (replaceable && stat(path.c_str(), &old) == 0) fchmod(descriptor, old.st_mode & 07777);
  return std::unique_ptr<FileSink>(new FileSink(std::move(path), std::move(temporary), descriptor));
}

FileSink::~FileSink() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

Error FileSink::io_error(std::string_view action) const {
  return {ErrorCode::io, std::string(action) + ": " + std::generic_category().message(errno),
          path_};
}

Result<void> FileSink::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return io_error("cannot write");
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return {};
}

Result<void> FileSink::finish() {
  if (temporary_.empty()) {
    if (close(std::exchange(descriptor_, -1)) != 0) return io_error("cannot close");
    return {};
  }
  // Some disks report that they are full no earlier than here.
  if (fsync(descriptor_) != 0) return io_error("cannot write");
  if (rename(temporary_.c_str(), path_.c_str()) != 0) return io_error("cannot rename to this");
  close(std::exchange(descriptor_, -1));
  sync_folder(path_);
  return {};
}

}  // namespace pt2
