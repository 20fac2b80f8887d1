#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

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

FileSink::FileSink(std::string path, std::string temporary, int descriptor)
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}

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
  if (!temporary_.empty() && rename(temporary_.c_str(), path_.c_str()) != 0)
    return io_error("cannot rename to this");
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (close(descriptor) != 0) return io_error("cannot close");
  return {};
}

}  // namespace pt2
