// Files by descriptor. POSIX, WASI and Windows differ here, so nobody else calls the system for
// them (tests/structure/portable.sh). Names are in the encoding that std::filesystem takes;
// "/dev/stdin" and "/dev/stdout" are the standard streams on Windows, too. What fails sets errno:
// see reason(). Calls that a signal interrupts go on.
#ifndef PT2_BASE_PLATFORM_FILES_H
#define PT2_BASE_PLATFORM_FILES_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>

namespace pt2::files {

// The text for errno.
std::string reason();

// Each gives a descriptor that child processes do not inherit, or -1.
int open_to_read(const std::string& name);
// A file or device that is there; it keeps its contents.
int open_to_write(const std::string& name);
// As open_to_write, but neither follows a link nor waits for the other end of a pipe.
int open_itself(const std::string& name);
// A file that was not there.
int create(const std::string& name);
// A file in `folder` without a name until name_it; -1 where the system has none.
int create_nameless(const std::string& folder);
// A file beside `name`, to write and read, that is gone when it is closed.
int create_scratch(const std::string& name);
// False when it could not be closed, which is where some disks report that they are full.
bool close(int descriptor);

struct Status {
  bool is_regular = false;
  uint64_t device = 0;  // with `number` what tells this file from every other
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
// Of what a link leads to.
std::optional<Status> status(const std::string& name);
std::optional<Status> status(std::FILE* stream);
// Of a link itself.
std::optional<Status> status_itself(const std::string& name);

// At most `into.size()` bytes, 0 at the end; -1 on failure.
int64_t read(int descriptor, std::span<std::byte> into);
// From `offset` on; moves no position where the system can do so.
int64_t read_at(int descriptor, std::span<std::byte> into, uint64_t offset);
// All of the bytes.
bool write(int descriptor, std::span<const std::byte> bytes);
bool rewind(int descriptor);

// From `offset` on, `size` bytes at most: how many of them are stored, or how many are zeros that
// take no place on the disk (a hole).
struct Extent {
  size_t size = 0;
  bool is_hole = false;
};
Extent first_extent(int descriptor, uint64_t offset, size_t size);
// Makes a hole of that size at the end of a file, and goes behind it.
bool write_hole(int descriptor, size_t size);
// Lets the system copy from `offset` on to the position of `to`, where it may share blocks. The
// result is the number of bytes copied; the rest is for the caller to copy.
size_t copy_shared(int from, uint64_t offset, int to, size_t size);

// Waits until the disk has it.
bool sync(int descriptor);
void sync_folder(const std::string& folder);
// Keeps other processes from locking the file until it is closed. False with errno EWOULDBLOCK
// where another one holds it.
bool lock(int descriptor);
// Owner and mode of `model`, as far as the system allows.
void take_permissions(int descriptor, const std::string& model);
// Gives a file of create_nameless a name; errno EEXIST where it is taken.
bool name_it(int descriptor, const std::string& name);
// Replaces what is called `to`, at once.
bool rename(const std::string& from, const std::string& to);
void remove(const std::string& name);

// Maps a file's bytes to read; null on failure, with errno ENODEV where such files cannot be
// mapped.
const std::byte* map(int descriptor, size_t size);
// Bytes that are zero and take no memory before they are written; null on failure.
const std::byte* map_zeros(size_t size);
void unmap(const std::byte* bytes, size_t size);
// Takes pages of a mapped file from this process; they come back when touched.
void drop_pages(std::span<const std::byte> mapped);
// The same for memory of any kind, whose contents stay; does nothing where the system cannot.
void page_out(std::span<const std::byte> bytes);

bool is_terminal(std::FILE* stream);

}  // namespace pt2::files

#endif  // PT2_BASE_PLATFORM_FILES_H
