// A file's bytes without reading them: pages are loaded when touched. A file that cannot be mapped
// (a pipe, /dev/stdin) is read into memory.
#ifndef PT2_BASE_MAPPED_FILE_H
#define PT2_BASE_MAPPED_FILE_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/platform/files.h"
#include "pt2/limits.h"
#include "pt2/result.h"

namespace pt2 {

class MappedFile {
 public:
  // Error `io` with the path and the system's reason. An empty file maps to no bytes. If another
  // process shortens a mapped file, the system ends this process with SIGBUS: replace files by
  // renaming. A pipe or device, which cannot be mapped, is read: error `limit` beyond
  // `max_stream_bytes`.
  static Result<std::shared_ptr<const MappedFile>> open(
      const std::string& path, uint64_t max_stream_bytes = Limits{}.max_stream_bytes);
  // Maps `bytes` zeros, which take address space but no memory, even when read. Error `limit` if
  // there is not that much address space.
  static Result<std::shared_ptr<const MappedFile>> zeros(size_t bytes);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  // Returns a new descriptor of the mapped file, for the caller to close; -1 if the path leads to
  // another file by now, or if the bytes were read. Descriptors are not kept, because thousands of
  // packages may be open at once.
  int reopen() const;
  // Removes the pages of `part` from this process. They return when touched, usually from the
  // system's cache. Does nothing if `part` lies elsewhere or was read.
  void release(std::span<const std::byte> part) const;

 private:
  MappedFile() = default;
  Result<void> map(int descriptor, uint64_t size, uint64_t max_stream_bytes);
  Result<void> read_all(int descriptor, uint64_t max_bytes);

  std::span<const std::byte> bytes_;
  std::string read_;
  std::string path_;
  files::Status status_;  // equal while the file is neither replaced nor changed
  bool mapped_ = false;
};

// For a name that comes from a folder or from another file, not from the user: error `invalid` for
// a folder, a pipe or a device. A pipe would wait for a writer, and a device may never end. A name
// that leads nowhere is left to what opens it.
Result<void> check_is_file(const std::string& path);

// Releases the pages of bytes that will not be read again soon; they return from the file when
// touched. Does nothing for bytes outside of mapped files.
void release_pages(std::span<const std::byte> bytes);

}  // namespace pt2

#endif  // PT2_BASE_MAPPED_FILE_H
