#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "archive/unfinished_file.h"
#include "pt2/format/origin.h"
#include "pt2/format/zip.h"

namespace pt2 {
namespace {

constexpr size_t kCopyBuffer = size_t{1} << 18;
constexpr off_t kDiskBlock = 4096;

Error io_error(std::string message, std::string path) {
  return {ErrorCode::io, std::move(message), std::move(path)};
}

std::string reason() { return std::generic_category().message(errno); }

}  // namespace

FileSink::FileSink(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {}

Result<std::unique_ptr<FileSink>> FileSink::create(std::string path) {
  struct stat there {};
  const bool is_there = stat(path.c_str(), &there) == 0;
  if (is_there && !S_ISREG(there.st_mode)) {
    const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) return io_error(reason(), std::move(path));
    return std::unique_ptr<FileSink>(new FileSink(std::move(path), descriptor));
  }
  std::error_code failed;
  std::string target = path;
  if (is_there) {
    target = std::filesystem::canonical(path, failed).string();
    if (failed) return io_error(failed.message(), std::move(path));
  } else if (path.empty()) {
    return io_error("the name of the file is empty", std::move(path));
  } else if (lstat(path.c_str(), &there) == 0) {
    return io_error("this is a link to a file that is not there", std::move(path));
  }
  Result<std::unique_ptr<UnfinishedFile>> file = UnfinishedFile::create(std::move(target));
  if (!file) return io_error(std::move(file).error().message, std::move(path));
  std::unique_ptr<FileSink> sink(new FileSink(std::move(path), (*file)->descriptor()));
  sink->unfinished_ = *std::move(file);
  return sink;
}

FileSink::~FileSink() {
  if (!unfinished_ && descriptor_ >= 0) close(descriptor_);
}

Result<void> FileSink::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return io_error("cannot write: " + reason(), path_);
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return {};
}

Result<void> FileSink::write_from(const Origin& origin, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const Origin::Extent extent = origin.first_extent(bytes);
    const std::span<const std::byte> part = bytes.first(extent.size);
    if (extent.is_hole && unfinished_) {
      const off_t end = lseek(descriptor_, static_cast<off_t>(part.size()), SEEK_CUR);
      // A file may end with a hole.
      if (end < 0 || ftruncate(descriptor_, end) != 0)
        return io_error("cannot write: " + reason(), path_);
    } else {
      PT2_TRY_VOID(copy_from(origin, part));
    }
    bytes = bytes.subspan(extent.size);
  }
  return {};
}

// The kernel copies where blocks are aligned alike in both files, so that it may share them.
// Elsewhere its copy takes a fifth longer than reading and writing (Linux 6.18, ext4). When the
// kernel's copy fails, reading and writing takes over and reports the error.
Result<void> FileSink::copy_from(const Origin& origin, std::span<const std::byte> bytes) {
#ifdef __linux__
  auto from = static_cast<off_t>(origin.offset_of(bytes));
  const bool is_aligned = (from - lseek(descriptor_, 0, SEEK_CUR)) % kDiskBlock == 0;
  while (is_aligned && !bytes.empty()) {
    const ssize_t count =
        copy_file_range(origin.descriptor(), &from, descriptor_, nullptr, bytes.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
#endif
  std::vector<std::byte> buffer(std::min(bytes.size(), kCopyBuffer));
  while (!bytes.empty()) {
    PT2_TRY(const std::span<const std::byte> part, origin.read(bytes, buffer));
    PT2_TRY_VOID(write(part));
    bytes = bytes.subspan(part.size());
  }
  return {};
}

Result<void> FileSink::finish() {
  if (!unfinished_) {
    if (close(std::exchange(descriptor_, -1)) != 0)
      return io_error("cannot close: " + reason(), path_);
    return {};
  }
  if (const Result<void> published = unfinished_->publish(); !published)
    return io_error(published.error().message, path_);
  unfinished_.reset();
  descriptor_ = -1;
  return {};
}

}  // namespace pt2
