#ifndef _WIN32

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "base/platform/files.h"

#ifndef __wasi__  // WASI has no other processes, and a mapped file is a copy in memory
#include <sys/file.h>
#endif

namespace pt2::files {
namespace {

#ifdef __wasi__
constexpr int kNotReserved = 0;
#else
constexpr int kNotReserved = MAP_NORESERVE;
#endif

Status status_from(const struct stat& found) {
#ifdef __APPLE__
  const timespec& changed = found.st_mtimespec;
#else
  const timespec& changed = found.st_mtim;
#endif
  return {.is_regular = S_ISREG(found.st_mode),
          .device = static_cast<uint64_t>(found.st_dev),
          .number = static_cast<uint64_t>(found.st_ino),
          .size = static_cast<uint64_t>(found.st_size),
          .changed_seconds = changed.tv_sec,
          .changed_nanoseconds = changed.tv_nsec};
}

// A path to the open file that linkat accepts without privileges.
std::string descriptor_path(int descriptor) {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

template <class Call>
int64_t uninterrupted(Call call) {
  for (;;)
    if (const ssize_t count = call(); count >= 0 || errno != EINTR) return count;
}

// Applies to the pages that lie entirely in `bytes`.
[[maybe_unused]] void advise(std::span<const std::byte> bytes, int advice) {
#ifndef __wasi__
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(bytes.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(bytes.data() + bytes.size()) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, advice);
#else
  (void)bytes, (void)advice;
#endif
}

}  // namespace

std::string reason() { return std::generic_category().message(errno); }

int open_to_read(const std::string& name) { return open(name.c_str(), O_RDONLY | O_CLOEXEC); }

int open_to_write(const std::string& name) { return open(name.c_str(), O_WRONLY | O_CLOEXEC); }

int open_itself(const std::string& name) {
  return open(name.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

int create(const std::string& name) {
  return open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

int create_nameless([[maybe_unused]] const std::string& folder) {
#ifdef O_TMPFILE
  const int descriptor = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (descriptor < 0) return -1;
  // Without /proc the file could not be given a name.
  if (access(descriptor_path(descriptor).c_str(), F_OK) == 0) return descriptor;
  close(descriptor);
#endif
  return -1;
}

int create_scratch(const std::string& name) {
#ifdef __wasi__
  const std::string own = name + ".tmp";
  const int descriptor = open(own.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
#else
  std::string own = name + ".XXXXXX";
  const int descriptor = mkstemp(own.data());
  if (descriptor >= 0) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
#endif
  if (descriptor >= 0) unlink(own.c_str());
  return descriptor;
}

bool close(int descriptor) { return ::close(descriptor) == 0; }

std::optional<Status> status(int descriptor) {
  struct stat found {};
  return fstat(descriptor, &found) == 0 ? std::optional(status_from(found)) : std::nullopt;
}

std::optional<Status> status(const std::string& name) {
  struct stat found {};
  return stat(name.c_str(), &found) == 0 ? std::optional(status_from(found)) : std::nullopt;
}

std::optional<Status> status(std::FILE* stream) { return status(fileno(stream)); }

std::optional<Status> status_itself(const std::string& name) {
  struct stat found {};
  return lstat(name.c_str(), &found) == 0 ? std::optional(status_from(found)) : std::nullopt;
}

int64_t read(int descriptor, std::span<std::byte> into) {
  return uninterrupted([&] { return ::read(descriptor, into.data(), into.size()); });
}

int64_t read_at(int descriptor, std::span<std::byte> into, uint64_t offset) {
  return uninterrupted(
      [&] { return pread(descriptor, into.data(), into.size(), static_cast<off_t>(offset)); });
}

bool write(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const int64_t count =
        uninterrupted([&] { return ::write(descriptor, bytes.data(), bytes.size()); });
    if (count < 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return true;
}

bool rewind(int descriptor) { return lseek(descriptor, 0, SEEK_SET) == 0; }

Extent first_extent([[maybe_unused]] int descriptor, [[maybe_unused]] uint64_t offset,
                    size_t size) {
#ifdef SEEK_HOLE
  const auto start = static_cast<off_t>(offset);
  const auto size_to = [&](off_t end) { return std::min(size, static_cast<size_t>(end - start)); };
  const off_t data = lseek(descriptor, start, SEEK_DATA);
  // Only a hole that reaches the end of the file gives ENXIO; file systems without holes give
  // EINVAL.
  if (data < 0) return {size, errno == ENXIO};
  if (data > start) return {size_to(data), true};
  const off_t hole = lseek(descriptor, start, SEEK_HOLE);
  return {hole > start ? size_to(hole) : size, false};
#else
  return {size, false};
#endif
}

bool write_hole(int descriptor, size_t size) {
  const off_t end = lseek(descriptor, static_cast<off_t>(size), SEEK_CUR);
  // The file may end with the hole, so it must grow to that size.
  return end >= 0 && ftruncate(descriptor, end) == 0;
}

size_t copy_shared([[maybe_unused]] int from, [[maybe_unused]] uint64_t offset,
                   [[maybe_unused]] int to, [[maybe_unused]] size_t size) {
  size_t copied = 0;
#ifdef __linux__
  constexpr off_t kDiskBlock = 4096;
  auto start = static_cast<off_t>(offset);
  // Blocks are shared if their offsets in both files are aligned alike. Otherwise the system's copy
  // takes a fifth longer than reading and writing (Linux 6.18, ext4).
  if ((start - lseek(to, 0, SEEK_CUR)) % kDiskBlock != 0) return 0;
  while (copied < size) {
    const int64_t count =
        uninterrupted([&] { return copy_file_range(from, &start, to, nullptr, size - copied, 0); });
    if (count <= 0) break;
    copied += static_cast<size_t>(count);
  }
#endif
  return copied;
}

bool sync(int descriptor) { return fsync(descriptor) == 0; }

// Not every file system can sync folders.
void sync_folder(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

bool lock(int descriptor) {
#ifdef __wasi__
  return descriptor >= 0;
#else
  return flock(descriptor, LOCK_EX | LOCK_NB) == 0;
#endif
}

void take_permissions([[maybe_unused]] int descriptor, [[maybe_unused]] const std::string& model) {
#ifndef __wasi__  // WASI files have neither owners nor modes
  struct stat old {};
  if (stat(model.c_str(), &old) != 0) return;
  // Only the superuser may give files away; otherwise the process that replaces the file owns it.
  [[maybe_unused]] const int ignored = fchown(descriptor, old.st_uid, old.st_gid);
  fchmod(descriptor, old.st_mode & 0777);
#endif
}

bool name_it(int descriptor, const std::string& name) {
  return linkat(AT_FDCWD, descriptor_path(descriptor).c_str(), AT_FDCWD, name.c_str(),
                AT_SYMLINK_FOLLOW) == 0;
}

bool rename(const std::string& from, const std::string& to) {
  return ::rename(from.c_str(), to.c_str()) == 0;
}

void remove(const std::string& name) { unlink(name.c_str()); }

const std::byte* map(int descriptor, size_t size) {
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<const std::byte*>(memory);
}

const std::byte* map_zeros(size_t size) {
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | kNotReserved, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<const std::byte*>(memory);
}

void unmap(const std::byte* bytes, size_t size) { munmap(const_cast<std::byte*>(bytes), size); }

void drop_pages(std::span<const std::byte> mapped) { advise(mapped, MADV_DONTNEED); }

void page_out([[maybe_unused]] std::span<const std::byte> bytes) {
#ifdef MADV_PAGEOUT
  advise(bytes, MADV_PAGEOUT);
#endif
}

bool is_terminal(std::FILE* stream) { return isatty(fileno(stream)) == 1; }

}  // namespace pt2::files

#endif
