#ifdef _WIN32

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <system_error>

#include "base/platform/files.h"
#include "base/platform/windows_api.h"

namespace pt2::files {
namespace {

// Sets errno to the C error for the system's last error, and returns it.
int set_errno() {
  switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
    case ERROR_BAD_PATHNAME:
      return errno = ENOENT;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS:
      return errno = EEXIST;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_WRITE_PROTECT:
      return errno = EACCES;
    case ERROR_LOCK_VIOLATION:
      return errno = EWOULDBLOCK;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
      return errno = ENOSPC;
    case ERROR_BROKEN_PIPE:
    case ERROR_NO_DATA:
      return errno = EPIPE;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
    case ERROR_COMMITMENT_LIMIT:
      return errno = ENOMEM;
    case ERROR_TOO_MANY_OPEN_FILES:
      return errno = EMFILE;
    case ERROR_NOT_SAME_DEVICE:
      return errno = EXDEV;
    default:
      return errno = EIO;
  }
}

HANDLE handle_of(int descriptor) { return reinterpret_cast<HANDLE>(_get_osfhandle(descriptor)); }

// The descriptor of a standard stream by its POSIX name, or -1.
int standard_stream(const std::string& name) {
  constexpr std::string_view kNames[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
  const auto* found = std::ranges::find(kNames, name);
  return found == std::end(kNames) ? -1 : static_cast<int>(found - kNames);
}

// Other processes may rename, replace and remove the open file, as on other systems.
int open_with(const std::string& name, DWORD access, DWORD disposition, DWORD flags) {
  if (const int stream = standard_stream(name); stream >= 0) return _dup(stream);
  const std::filesystem::path path(name);
  const DWORD found = GetFileAttributesW(path.c_str());
  if (found != INVALID_FILE_ATTRIBUTES && (found & FILE_ATTRIBUTE_DIRECTORY) != 0) {
    errno = EISDIR;
    return -1;
  }
  const HANDLE handle =
      CreateFileW(path.c_str(), access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                  nullptr, disposition, FILE_ATTRIBUTE_NORMAL | flags, nullptr);
  if (handle == INVALID_HANDLE_VALUE) {
    set_errno();
    return -1;
  }
  const int descriptor =
      _open_osfhandle(reinterpret_cast<intptr_t>(handle), _O_BINARY | _O_NOINHERIT);
  if (descriptor < 0) CloseHandle(handle);
  return descriptor;
}

Status status_of(HANDLE handle) {
  BY_HANDLE_FILE_INFORMATION found;
  // Pipes have no such information, nor have files of some networks, nor Wine's standard streams:
  // these are read like pipes.
  if (GetFileType(handle) != FILE_TYPE_DISK || GetFileInformationByHandle(handle, &found) == 0)
    return {.device = UINT64_MAX,
            .number = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(handle))};
  const auto joined = [](DWORD high, DWORD low) { return uint64_t{high} << 32 | low; };
  // In tenths of microseconds.
  const uint64_t changed =
      joined(found.ftLastWriteTime.dwHighDateTime, found.ftLastWriteTime.dwLowDateTime);
  return {.is_regular = (found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) == 0,
          .device = found.dwVolumeSerialNumber,
          .number = joined(found.nFileIndexHigh, found.nFileIndexLow),
          .size = joined(found.nFileSizeHigh, found.nFileSizeLow),
          .changed_seconds = static_cast<int64_t>(changed / 10'000'000),
          .changed_nanoseconds = static_cast<int64_t>(changed % 10'000'000 * 100)};
}

// Opens without asking for access to the contents, so that folders have a status, too.
std::optional<Status> status_of(const std::string& name, DWORD flags) {
  if (const int stream = standard_stream(name); stream >= 0) {
    Status found = status_of(handle_of(stream));
    found.is_regular = false;  // the file behind the stream has no name and cannot be replaced
    return found;
  }
  const HANDLE handle = CreateFileW(std::filesystem::path(name).c_str(), FILE_READ_ATTRIBUTES,
                                    FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                    OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | flags, nullptr);
  if (handle == INVALID_HANDLE_VALUE) {
    set_errno();
    return std::nullopt;
  }
  const Status found = status_of(handle);
  CloseHandle(handle);
  return found;
}

// Maps a file's bytes, or zeros if `file` is INVALID_HANDLE_VALUE.
const std::byte* view_of(HANDLE file, size_t size) {
  const HANDLE section =
      CreateFileMappingW(file, nullptr, PAGE_READONLY, static_cast<DWORD>(uint64_t{size} >> 32),
                         static_cast<DWORD>(size), nullptr);
  void* memory = section == nullptr ? nullptr : MapViewOfFile(section, FILE_MAP_READ, 0, 0, size);
  if (memory == nullptr) set_errno();
  if (section != nullptr) CloseHandle(section);  // the view keeps the section
  return static_cast<const std::byte*>(memory);
}

OVERLAPPED at_offset(uint64_t offset) {
  OVERLAPPED place{};
  place.Offset = static_cast<DWORD>(offset);
  place.OffsetHigh = static_cast<DWORD>(offset >> 32);
  return place;
}

}  // namespace

std::string reason() { return std::generic_category().message(errno); }

int open_to_read(const std::string& name) {
  return open_with(name, GENERIC_READ, OPEN_EXISTING, 0);
}

int open_to_write(const std::string& name) {
  return open_with(name, GENERIC_WRITE, OPEN_EXISTING, 0);
}

int open_itself(const std::string& name) {
  return open_with(name, GENERIC_WRITE, OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT);
}

int create(const std::string& name) { return open_with(name, GENERIC_WRITE, CREATE_NEW, 0); }

int create_nameless(const std::string&) { return -1; }

int create_scratch(const std::string& name) {
  const std::string own = name + "." + std::to_string(GetCurrentProcessId()) + "-" +
                          std::to_string(GetCurrentThreadId()) + ".tmp";
  return open_with(own, GENERIC_READ | GENERIC_WRITE | DELETE, CREATE_NEW,
                   FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE);
}

bool close(int descriptor) { return _close(descriptor) == 0; }

std::optional<Status> status(int descriptor) { return status_of(handle_of(descriptor)); }

std::optional<Status> status(const std::string& name) { return status_of(name, 0); }

std::optional<Status> status(std::FILE* stream) { return status(_fileno(stream)); }

std::optional<Status> status_itself(const std::string& name) {
  return status_of(name, FILE_FLAG_OPEN_REPARSE_POINT);
}

int64_t read(int descriptor, std::span<std::byte> into) {
  return _read(descriptor, into.data(),
               static_cast<unsigned>(std::min<size_t>(into.size(), INT_MAX)));
}

int64_t read_at(int descriptor, std::span<std::byte> into, uint64_t offset) {
  OVERLAPPED place = at_offset(offset);
  DWORD count = 0;
  const auto size = static_cast<DWORD>(std::min<size_t>(into.size(), INT_MAX));
  if (ReadFile(handle_of(descriptor), into.data(), size, &count, &place) != 0) return count;
  if (GetLastError() == ERROR_HANDLE_EOF) return 0;
  set_errno();
  return -1;
}

bool write(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const int count = _write(descriptor, bytes.data(),
                             static_cast<unsigned>(std::min<size_t>(bytes.size(), INT_MAX)));
    if (count < 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return true;
}

bool rewind(int descriptor) { return _lseeki64(descriptor, 0, SEEK_SET) == 0; }

Extent first_extent(int, uint64_t, size_t size) { return {size, false}; }

bool write_hole(int descriptor, size_t size) {
  const int64_t end = _lseeki64(descriptor, static_cast<int64_t>(size), SEEK_CUR);
  return end >= 0 && _chsize_s(descriptor, end) == 0;
}

size_t copy_shared(int, uint64_t, int, size_t) { return 0; }

bool sync(int descriptor) { return _commit(descriptor) == 0; }

void sync_folder(const std::string&) {}

// Other processes can neither read nor write locked bytes, so the lock is on a byte that no file
// has.
bool lock(int descriptor) {
  OVERLAPPED place = at_offset(uint64_t{1} << 62);
  if (LockFileEx(handle_of(descriptor), LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1,
                 0, &place) != 0)
    return true;
  set_errno();
  return false;
}

void take_permissions(int, const std::string&) {}

bool name_it(int, const std::string&) {
  errno = ENOTSUP;
  return false;
}

bool rename(const std::string& from, const std::string& to) {
  const std::filesystem::path old(from), renamed(to);
  if (MoveFileExW(old.c_str(), renamed.c_str(), MOVEFILE_REPLACE_EXISTING) != 0) return true;
  set_errno();
  return false;
}

void remove(const std::string& name) { DeleteFileW(std::filesystem::path(name).c_str()); }

const std::byte* map(int descriptor, size_t size) {
  const std::byte* bytes = view_of(handle_of(descriptor), size);
  if (bytes == nullptr && errno == EIO) errno = ENODEV;
  return bytes;
}

const std::byte* map_zeros(size_t size) { return view_of(INVALID_HANDLE_VALUE, size); }

void unmap(const std::byte* bytes, size_t) { UnmapViewOfFile(bytes); }

// VirtualUnlock removes pages from the working set if they are not locked.
void drop_pages(std::span<const std::byte> mapped) {
  VirtualUnlock(const_cast<std::byte*>(mapped.data()), mapped.size());
}

void page_out(std::span<const std::byte> bytes) { drop_pages(bytes); }

bool is_terminal(std::FILE* stream) { return _isatty(_fileno(stream)) != 0; }

}  // namespace pt2::files

#endif
