#include "base/mapped_file.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace pt2 {
namespace {

Error system_error() {
  if (errno == EISDIR) return {ErrorCode::io, "found a folder, expected a file", ""};
  return {errno == ENOMEM ? ErrorCode::limit : ErrorCode::io, files::reason(), ""};
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) files::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path,
                                                           uint64_t max_stream_bytes) {
  const Descriptor file(files::open_to_read(path));
  if (file.number() < 0) return at(system_error(), path);
  const std::optional<files::Status> status = files::status(file.number());
  if (!status) return at(system_error(), path);
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  const Result<void> filled = status->is_regular
                                  ? mapped->map(file.number(), status->size, max_stream_bytes)
                                  : mapped->read_all(file.number(), max_stream_bytes);
  if (!filled) return at(filled.error(), path);
  mapped->path_ = path;
  mapped->status_ = *status;
  return std::shared_ptr<const MappedFile>(std::move(mapped));
}

Result<std::shared_ptr<const MappedFile>> MappedFile::zeros(size_t bytes) {
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  if (bytes > 0) {
    const std::byte* memory = files::map_zeros(bytes);
    if (memory == nullptr) return Error{ErrorCode::limit, files::reason(), {}};
    mapped->bytes_ = {memory, bytes};
    mapped->mapped_ = true;
  }
  return std::shared_ptr<const MappedFile>(std::move(mapped));
}

MappedFile::~MappedFile() {
  if (mapped_) files::unmap(bytes_.data(), bytes_.size());
}

int MappedFile::reopen() const {
  if (!mapped_ || path_.empty()) return -1;
  const int descriptor = files::open_to_read(path_);
  if (descriptor < 0 || files::status(descriptor) == status_) return descriptor;
  files::close(descriptor);
  return -1;
}

void MappedFile::release(std::span<const std::byte> part) const {
  const std::less_equal<const std::byte*> precedes;
  if (mapped_ && precedes(bytes_.data(), part.data()) &&
      precedes(part.data() + part.size(), bytes_.data() + bytes_.size()))
    files::drop_pages(part);
}

Result<void> check_is_file(const std::string& path) {
  const std::optional<files::Status> status = files::status(path);
  if (!status || status->is_regular) return {};
  return Error{ErrorCode::invalid, "found a folder, pipe or device, expected a file", path};
}

void release_pages(std::span<const std::byte> bytes) { files::page_out(bytes); }

Result<void> MappedFile::map(int descriptor, uint64_t size, uint64_t max_stream_bytes) {
  if (size == 0) return {};
  if (size > PTRDIFF_MAX) return Error{ErrorCode::limit, "is larger than the address space", ""};
  const auto length = static_cast<size_t>(size);
  const std::byte* memory = files::map(descriptor, length);
  if (memory == nullptr && errno == ENODEV) return read_all(descriptor, max_stream_bytes);
  if (memory == nullptr) return system_error();
  bytes_ = {memory, length};
  mapped_ = true;
  return {};
}

// Reads in pieces that are freed as they are joined: a buffer that grows would exist twice. The
// largest pieces have a size that every allocator returns to the system.
Result<void> MappedFile::read_all(int descriptor, uint64_t max_bytes) {
  constexpr size_t kSmallest = size_t{1} << 16, kLargest = size_t{32} << 20;
  struct Piece {
    std::unique_ptr<std::byte[]> bytes;
    size_t size = 0;
  };
  std::vector<Piece> pieces;
  size_t total = 0, room = 0;
  for (;;) {
    if (room == 0) {
      room = std::clamp(total, kSmallest, kLargest);
      pieces.push_back({std::make_unique_for_overwrite<std::byte[]>(room), 0});
    }
    Piece& piece = pieces.back();
    const int64_t count = files::read(descriptor, {piece.bytes.get() + piece.size, room});
    if (count < 0) return system_error();
    if (count == 0) break;
    piece.size += static_cast<size_t>(count);
    room -= static_cast<size_t>(count);
    total += static_cast<size_t>(count);
    if (total > max_bytes)
      return Error{ErrorCode::limit,
                   "found more than " + std::to_string(max_bytes) +
                       " bytes (max_stream_bytes) in a pipe or device, which is read into memory",
                   ""};
  }
  read_.reserve(total);
  for (Piece& piece : pieces) {
    read_.append(reinterpret_cast<const char*>(piece.bytes.get()), piece.size);
    piece.bytes.reset();
  }
  bytes_ = std::as_bytes(std::span(read_));
  return {};
}

}  // namespace pt2
