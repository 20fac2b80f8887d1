// Reads and writes zip files as PyTorch does. The reader works on mapped bytes and checks every
// claim of the file. The writer uses the record layout of PyTorch. Imitates
// caffe2/serialize/inline_container.cc and Python's zipfile.
#ifndef PT2_FORMAT_ZIP_H
#define PT2_FORMAT_ZIP_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/diagnostics.h"
#include "pt2/limits.h"
#include "pt2/result.h"

namespace pt2 {

class Origin;
class UnfinishedFile;

// The bytes of a record and their owner: the mapped file, or heap memory if they were inflated.
struct Record {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  // The number of bytes here divided by the number of bytes that they take in the outermost zip
  // file. Archive::read sets a smaller factor for JSON that deflates well.
  double growth = 1;

  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  // Returns the limits for decoding this record and for zip files inside it. Ratio limits are
  // relative to the bytes in the outermost file, so that nested compression does not multiply them.
  Limits limits_inside(const Limits& of_file) const;
};

// Returns a record that owns `bytes`.
Record make_record(std::string bytes);
// Maps a whole file. Error `io`.
Result<Record> map_file(const std::string& path);

// One record of the central directory. ZipReader::open has checked it against its local header.
struct Entry {
  std::string name;              // raw bytes, UTF-8 by convention
  uint64_t size = 0;             // bytes of the content
  uint64_t compressed_size = 0;  // bytes in the file; equal to `size` if stored
  uint64_t header_offset = 0;
  uint64_t data_offset = 0;
  uint32_t crc = 0;
  bool deflated = false;
};

// The directory of one zip file. Copies share the bytes. Any number of threads may read at once.
class ZipReader {
 public:
  // Reads the directory and the local headers, but no contents. `owner` keeps `bytes` alive.
  // Warnings (V101, V102) go to `diagnostics`. Errors: `malformed` (not a zip, a name that leads
  // out of the archive, a duplicate name), `corrupt` (truncated, overlapping records, wrong sizes),
  // `unsupported` (encryption, other compression, several disks), `limit`. Their `where` is the
  // name of the entry. O(entries log entries).
  static Result<ZipReader> open(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                const Limits& limits, Diagnostics& diagnostics);
  // Opens a zip file that is a record of another zip file.
  static Result<ZipReader> open(const Record& record, const Limits& limits,
                                Diagnostics& diagnostics);

  // Makes a reader with one entry, `name`, for a file that is no zip.
  static ZipReader of_single(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                             std::string name);

  // Returns the entries in the order of the central directory. PyTorch wrote them in this order.
  std::span<const Entry> entries() const { return entries_; }
  // Returns the entry with this name; nullptr if there is none. O(log entries).
  const Entry* find(std::string_view name) const;
  // Returns the content: a view of the file for a stored entry, new memory for a deflated one. The
  // CRC-32 check reads every byte; `check_crc = false` skips it for stored entries only. Error
  // `corrupt` if the CRC-32 is wrong.
  Result<Record> read(const Entry& entry, bool check_crc = true) const;
  // Reads the content and compares its CRC-32. Error `corrupt`.
  Result<void> check_crc(const Entry& entry) const;
  std::span<const std::byte> bytes() const { return bytes_; }
  // Returns the offset of the central directory, which follows all entries.
  uint64_t directory_offset() const { return directory_offset_; }

 private:
  std::span<const std::byte> bytes_;
  uint64_t directory_offset_ = 0;
  std::shared_ptr<const void> owner_;
  std::vector<Entry> entries_;
  std::vector<uint32_t> by_name_;
  double growth_ = 1;  // Record::growth of the record that is this zip file
};

// Receives progress: `done` of `total` bytes are done. Called on any thread, but never on two at
// once.
using Progress = std::function<void(uint64_t done, uint64_t total)>;
// Checks the CRC-32 of every entry with up to `threads` threads. Adds V103 for each entry whose
// CRC-32 differs, in file order.
void check_all_crcs(const ZipReader& zip, Diagnostics& diagnostics, unsigned threads = 1,
                    const Progress& progress = {});

// A destination of written bytes. `finish` makes the result visible. A sink that is destroyed
// before `finish` leaves nothing behind.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual Result<void> write(std::span<const std::byte> bytes) = 0;
  // As write, for bytes that the caller keeps alive and unchanged as long as the sink's result is
  // in use. A sink may store a reference to these bytes instead of a copy.
  virtual Result<void> write_lasting(std::span<const std::byte> bytes) { return write(bytes); }
  // As write_lasting, for bytes that `origin` holds.
  virtual Result<void> write_from(const Origin& origin, std::span<const std::byte> bytes);
  // True if write_lasting would store a reference to these bytes and not read them.
  virtual bool remembers(std::span<const std::byte>) const { return false; }
  virtual Result<void> finish() = 0;
};

class StringSink : public Sink {
 public:
  Result<void> write(std::span<const std::byte> bytes) override;
  Result<void> finish() override;
  const std::string& bytes() const { return bytes_; }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Collects the bytes as a list of parts: lasting bytes by reference, other bytes as copies. Makes a
// large file inside another file without holding it in memory.
class PartsSink : public Sink {
 public:
  Result<void> write(std::span<const std::byte> bytes) override;
  Result<void> write_lasting(std::span<const std::byte> bytes) override;
  bool remembers(std::span<const std::byte> bytes) const override;
  Result<void> finish() override;
  std::vector<Record> take();

 private:
  void end_copied_part();
  std::vector<Record> parts_;
  std::string copied_;
};

// Writes a file atomically. Writes go to a file without a name or with a temporary name; `finish`
// puts it in the place of `path`. A reader sees the old file or the new one, never a part, and a
// file may be rewritten from its own mapped records. The new file takes the permissions of the old
// one, and is on the disk when `finish` returns. If `path` is a symbolic link, the target is
// replaced and the link stays; a dangling link is an error, as for `cp`. Devices and pipes are
// written directly. Errors: `io`.
class FileSink : public Sink {
 public:
  static Result<std::unique_ptr<FileSink>> create(std::string path);
  ~FileSink() override;
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;
  Result<void> write(std::span<const std::byte> bytes) override;
  // Lets the operating system copy the bytes if it can. Holes of sparse files stay holes.
  Result<void> write_from(const Origin& origin, std::span<const std::byte> bytes) override;
  Result<void> finish() override;

 private:
  FileSink(std::string path, int descriptor);
  Result<void> copy_from(const Origin& origin, std::span<const std::byte> bytes);
  std::string path_;
  std::unique_ptr<UnfinishedFile> unfinished_;  // null for a device or pipe
  int descriptor_;
};

enum class ZipStyle : uint8_t {
  // As PyTorchStreamWriter: contents at multiples of 64 bytes, data descriptors, always a ZIP64 end
  // record.
  torch,
  // As Python's zipfile with ZIP_STORED, which torch.export.save of 2.1 to 2.7 uses: no padding.
  python,
};

// Writes stored entries one after another. Equal calls give equal bytes (all times are the zip
// epoch).
class ZipWriter {
 public:
  // `origin` holds some of the bytes that will be added. It must outlive the writer.
  ZipWriter(Sink& sink, ZipStyle style, const Origin* origin = nullptr);
  // As above. Sizes and offsets of at least `first_in_64` take the ZIP64 form. PyTorch does this
  // from 4 GiB on; tests use smaller values.
  ZipWriter(Sink& sink, ZipStyle style, uint64_t first_in_64);
  // Adds an entry. Its content is the concatenation of the parts. This reads the bytes once for the
  // checksum, then passes them to the sink as lasting bytes. Errors: `argument` for a name that
  // ZipReader would refuse or that was added before; `corrupt` if a record of the origin is not
  // what its archive says; those of the sink.
  Result<void> add(std::string_view name, std::span<const Record> parts);
  Result<void> add(std::string_view name, std::span<const std::byte> bytes);
  // Copies the text if the sink would store a reference to it.
  Result<void> add(std::string_view name, std::string_view text);
  // Returns the content that PyTorchStreamWriter would write into .data/serialization_id after
  // these entries: a hash of their names below the root folder, in the order of its hash table, and
  // a hash of their checksums (writeSerializationId). O(entries).
  std::string serialization_id() const;
  // Returns the number of entries whose names begin with `prefix`.
  size_t count_prefix(std::string_view prefix) const;
  // Writes the directory and finishes the sink. Nothing may be added afterwards.
  Result<void> finish();

 private:
  struct Written {
    std::string name;
    uint64_t size;
    uint64_t header_offset;
    uint32_t crc;
  };
  Result<void> write(std::string_view bytes);
  Result<uint32_t> crc_before(std::span<const Record> parts) const;
  Result<uint32_t> write_part(std::span<const std::byte> bytes);
  Result<uint32_t> write_and_sum(std::span<const std::byte> bytes);
  Result<uint32_t> copy_and_sum(std::span<const std::byte> bytes);
  Result<void> begin(std::string_view name, uint64_t size, uint32_t crc);
  Result<void> check_name(std::string_view name);
  std::string local_header(const Written& entry) const;
  std::string data_descriptor(const Written& entry) const;
  std::string directory_record(const Written& entry) const;
  std::string end_records(uint64_t directory_offset, uint64_t directory_size) const;

  Sink& sink_;
  ZipStyle style_;
  uint64_t first_in_64_;
  const Origin* origin_ = nullptr;
  uint64_t cursor_ = 0;
  std::vector<Written> written_;
  std::set<std::string, std::less<>> names_;
};

}  // namespace pt2

#endif  // PT2_FORMAT_ZIP_H
