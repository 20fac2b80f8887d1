// A file's bytes without reading them: pages arrive when touched. What cannot be mapped (a pipe,
// /dev/stdin) is read.
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
  // Error `io` with the path and the system's reason. An empty file maps to no bytes. As with every
  // mapping, a file that another process shortens meanwhile ends the process with SIGBUS: replace
  // files by renaming. A pipe or device, which cannot be mapped, is read: error `limit` beyond
  // `max_stream_bytes`.
  static Result<std::shared_ptr<const MappedFile>> open(
      const std::string& path, uint64_t max_stream_bytes = Limits{}.max_stream_bytes);
  // A mapping of `bytes` zeros, which takes address space but no memory even when read. Error
  // `limit` when there is not that much address space.
  static Result<std::shared_ptr<const MappedFile>> zeros(size_t bytes);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  // A new descriptor of the mapped file, for the caller to close; -1 where the path by now leads to
  // another file, or the bytes were read. Descriptors are not kept, because thousands of packages
  // may be open at once.
  int reopen() const;
  // Takes the pages of `part` from this process; they come back, from the system's cache as a rule,
  // when touched. Does nothing where `part` lies elsewhere, or was read.
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

// Releases the pages of bytes that will not be read again soon; they come back from the file when
// touched. Bytes outside of mapped files stay as they are.
void release_pages(std::span<const std::byte> bytes);

}  // namespace pt2

#endif  // PT2_BASE_MAPPED_FILE_H
