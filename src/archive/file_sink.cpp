#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "archive/unfinished_file.h"
#include "base/platform/files.h"
#include "pt2/format/origin.h"
#include "pt2/format/zip.h"

namespace pt2 {
namespace {

constexpr size_t kCopyBuffer = size_t{1} << 18;

Error io_error(std::string message, std::string path) {
  return {ErrorCode::io, std::move(message), std::move(path)};
}

}  // namespace

FileSink::FileSink(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {}

Result<std::unique_ptr<FileSink>> FileSink::create(std::string path) {
  const std::optional<files::Status> there = files::status(path);
  if (there && !there->is_regular) {
    const int descriptor = files::open_to_write(path);
    if (descriptor < 0) return io_error(files::reason(), std::move(path));
    return std::unique_ptr<FileSink>(new FileSink(std::move(path), descriptor));
  }
  std::error_code failed;
  std::string target = path;
  if (there) {
    target = std::filesystem::canonical(path, failed).string();
    if (failed) return io_error(failed.message(), std::move(path));
  } else if (path.empty()) {
    return io_error("the name of the file is empty", std::move(path));
  } else if (files::status_itself(path)) {
    return io_error("this is a link to a file that is not there", std::move(path));
  }
  Result<std::unique_ptr<UnfinishedFile>> file = UnfinishedFile::create(std::move(target));
  if (!file) return io_error(std::move(file).error().message, std::move(path));
  std::unique_ptr<FileSink> sink(new FileSink(std::move(path), (*file)->descriptor()));
  sink->unfinished_ = *std::move(file);
  return sink;
}

FileSink::~FileSink() {
  if (!unfinished_ && descriptor_ >= 0) files::close(descriptor_);
}

Result<void> FileSink::write(std::span<const std::byte> bytes) {
  if (!files::write(descriptor_, bytes)) return io_error("cannot write: " + files::reason(), path_);
  return {};
}

Result<void> FileSink::write_from(const Origin& origin, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const Origin::Extent extent = origin.first_extent(bytes);
    const std::span<const std::byte> part = bytes.first(extent.size);
    if (extent.is_hole && unfinished_) {
      if (!files::write_hole(descriptor_, part.size()))
        return io_error("cannot write: " + files::reason(), path_);
    } else {
      PT2_TRY_VOID(copy_from(origin, part));
    }
    bytes = bytes.subspan(extent.size);
  }
  return {};
}

// Reads and writes the bytes where the system's copy fails or would be slower. Reading and writing
// report the error.
Result<void> FileSink::copy_from(const Origin& origin, std::span<const std::byte> bytes) {
  bytes = bytes.subspan(
      files::copy_shared(origin.descriptor(), origin.offset_of(bytes), descriptor_, bytes.size()));
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
    if (!files::close(std::exchange(descriptor_, -1)))
      return io_error("cannot close: " + files::reason(), path_);
    return {};
  }
  if (const Result<void> published = unfinished_->publish(); !published)
    return io_error(published.error().message, path_);
  unfinished_.reset();
  descriptor_ = -1;
  return {};
}

}  // namespace pt2
