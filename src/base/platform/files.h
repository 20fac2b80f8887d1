// Files by descriptor. POSIX, WASI and Windows differ here, so no other code calls the system for
// files (tests/structure/portable.sh). Names are in the encoding that std::filesystem takes;
// "/dev/stdin" and "/dev/stdout" are the standard streams on Windows, too. A failed call sets
// errno: see reason(). A call that a signal interrupts goes on.
#ifndef PT2_BASE_PLATFORM_FILES_H
#define PT2_BASE_PLATFORM_FILES_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>

namespace pt2::files {

// Returns the text for errno.
std::string reason();

// Each function returns a descriptor that child processes do not inherit, or -1.
int open_to_read(const std::string& name);
// Opens an existing file or device; keeps its contents.
int open_to_write(const std::string& name);
// As open_to_write, but neither follows a link nor waits for the other end of a pipe.
int open_itself(const std::string& name);
// Creates a file that does not exist.
int create(const std::string& name);
// Creates a file in `folder` without a name until name_it; -1 if the system has no such files.
int create_nameless(const std::string& folder);
// Creates a file beside `name`, to write and read, that is deleted when it is closed.
int create_scratch(const std::string& name);
// False if the file could not be closed: some disks report only then that they are full.
bool close(int descriptor);

struct Status {
  bool is_regular = false;
  uint64_t device = 0;  // `device` and `number` together identify a file
  uint64_t number = 0;
  uint64_t size = 0;  // in bytes
  int64_t changed_seconds = 0;
  int64_t changed_nanoseconds = 0;

  bool is_same_file(const Status& other) const {
    return device == other.device && number == other.number;
  }
  bool operator==(const Status&) const = default;
};
std::optional<Status> status(int descriptor);
// The status of the file that a link leads to.
std::optional<Status> status(const std::string& name);
std::optional<Status> status(std::FILE* stream);
// The status of a link itself.
std::optional<Status> status_itself(const std::string& name);

// Reads at most `into.size()` bytes; 0 at the end, -1 on failure.
int64_t read(int descriptor, std::span<std::byte> into);
// Reads from `offset` on; does not move the position if the system can read this way.
int64_t read_at(int descriptor, std::span<std::byte> into, uint64_t offset);
// Writes all of the bytes.
bool write(int descriptor, std::span<const std::byte> bytes);
bool rewind(int descriptor);

// A range of a file: how many bytes are stored, or are zeros that take no space on the disk (a
// hole). first_extent returns the one at `offset`, at most `size` bytes long.
struct Extent {
  size_t size = 0;
  bool is_hole = false;
};
Extent first_extent(int descriptor, uint64_t offset, size_t size);
// Makes a hole of that size at the end of a file, the current position, and moves behind it.
bool write_hole(int descriptor, size_t size);
// Lets the system copy from `offset` on to the position of `to`; it may share blocks. Returns the
// number of bytes copied; the caller copies the rest.
size_t copy_shared(int from, uint64_t offset, int to, size_t size);

// Waits until the contents are on the disk.
bool sync(int descriptor);
void sync_folder(const std::string& folder);
// Keeps other processes from locking the file until it is closed. False with errno EWOULDBLOCK if
// another process holds the lock.
bool lock(int descriptor);
// Gives the file the owner and mode of `model`, as far as the system allows.
void take_permissions(int descriptor, const std::string& model);
// Gives a file of create_nameless a name; errno EEXIST if the name is taken.
bool name_it(int descriptor, const std::string& name);
// Renames a file; replaces the file named `to` atomically.
bool rename(const std::string& from, const std::string& to);
void remove(const std::string& name);

// Maps a file's bytes to read; null on failure, with errno ENODEV if such files cannot be mapped.
const std::byte* map(int descriptor, size_t size);
// Maps zeros that take no memory before they are written; null on failure.
const std::byte* map_zeros(size_t size);
void unmap(const std::byte* bytes, size_t size);
// Removes the pages of a mapped file from this process; they return when touched.
void drop_pages(std::span<const std::byte> mapped);
// The same for memory of any kind, whose contents stay; does nothing if the system cannot do so.
void page_out(std::span<const std::byte> bytes);

bool is_terminal(std::FILE* stream);

}  // namespace pt2::files

#endif  // PT2_BASE_PLATFORM_FILES_H
