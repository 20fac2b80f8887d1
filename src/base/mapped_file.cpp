#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <system_error>
#include <vector>

#include "base/platform.h"

namespace pt2 {
namespace {

#ifdef __wasi__  // where a mapped file is a copy in memory
constexpr int kNotReserved = 0;
int advise_system(void*, size_t, int) { return 0; }
#else
constexpr int kNotReserved = MAP_NORESERVE;
constexpr auto advise_system = madvise;
#endif

Error system_error(int number) {
  const ErrorCode code = number == ENOMEM ? ErrorCode::limit : ErrorCode::io;
  if (number == EISDIR) return {code, "found a folder, expected a file", ""};
  return {code, std::generic_category().message(number), ""};
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

// For the pages that lie in `bytes` whole.
void advise(std::span<const std::byte> bytes, int advice) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(bytes.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(bytes.data() + bytes.size()) / page * page;
  if (begin < end) advise_system(reinterpret_cast<void*>(begin), end - begin, advice);
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path,
                                                           uint64_t max_stream_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) return at(system_error(errno), path);
  struct stat status {};
  if (fstat(file.number(), &status) != 0) return at(system_error(errno), path);
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  const Result<void> filled =
      S_ISREG(status.st_mode) ? mapped->map(file.number(), static_cast<uint64_t>(status.st_size))
                              : mapped->read_all(file.number(), max_stream_bytes);
  if (!filled) return at(filled.error(), path);
  mapped->path_ = path;
  mapped->identity_ = identity_of(file.number());
  return std::shared_ptr<const MappedFile>(std::move(mapped));
}

Result<std::shared_ptr<const MappedFile>> MappedFile::zeros(size_t bytes) {
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  if (bytes > 0) {
    void* memory =
        mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | kNotReserved, -1, 0);
    if (memory == MAP_FAILED)
      return Error{ErrorCode::limit, std::generic_category().message(errno), {}};
    mapped->bytes_ = {static_cast<const std::byte*>(memory), bytes};
    mapped->mapped_ = true;
  }
  return std::shared_ptr<const MappedFile>(std::move(mapped));
}

MappedFile::~MappedFile() {
  if (mapped_) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

MappedFile::Identity MappedFile::identity_of(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return {};
  const TimeOfChange changed = time_of_change(status);
  return {.device = status.st_dev,
          .number = status.st_ino,
          .size = status.st_size,
          .modified_seconds = changed.seconds,
          .modified_nanoseconds = changed.nanoseconds};
}

int MappedFile::reopen() const {
  if (!mapped_ || path_.empty()) return -1;
  const int descriptor = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 || identity_of(descriptor) == identity_) return descriptor;
  close(descriptor);
  return -1;
}

void MappedFile::release(std::span<const std::byte> part) const {
  const std::less_equal<const std::byte*> precedes;
  if (mapped_ && precedes(bytes_.data(), part.data()) &&
      precedes(part.data() + part.size(), bytes_.data() + bytes_.size()))
    advise(part, MADV_DONTNEED);
}

void release_pages(std::span<const std::byte> bytes) {
#ifdef MADV_PAGEOUT
  // Unlike MADV_DONTNEED this loses no data, whatever kind of memory it is.
  advise(bytes, MADV_PAGEOUT);
#else
  (void)bytes;
#endif
}

Result<void> MappedFile::map(int descriptor, uint64_t size) {
  if (size == 0) return {};
  if (size > PTRDIFF_MAX) return system_error(ENOMEM);
  const auto length = static_cast<size_t>(size);
  void* memory = mmap(nullptr, length, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (memory == MAP_FAILED) return system_error(errno);
  bytes_ = {static_cast<const std::byte*>(memory), length};
  mapped_ = true;
  return {};
}

// In pieces that go as they are joined: a buffer that grows would be there twice. The largest have
// the size from which on every allocator gives memory back to the system.
Result<void> MappedFile::read_all(int descriptor, uint64_t max_bytes) {
  constexpr size_t kSmallest = size_t{1} << 16, kLargest = size_t{32} << 20;
  struct Piece {
    std::unique_ptr<char[]> bytes;
    size_t size = 0;
  };
  std::vector<Piece> pieces;
  size_t total = 0, room = 0;
  for (;;) {
    if (room == 0) {
      room = std::clamp(total, kSmallest, kLargest);
      pieces.push_back({std::make_unique_for_overwrite<char[]>(room), 0});
    }
    Piece& piece = pieces.back();
    const ssize_t count = ::read(descriptor, piece.bytes.get() + piece.size, room);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(errno);
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
    read_.append(piece.bytes.get(), piece.size);
    piece.bytes.reset();
  }
  bytes_ = std::as_bytes(std::span(read_));
  return {};
}

}  // namespace pt2
