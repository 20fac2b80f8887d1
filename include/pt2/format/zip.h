// Zip files as PyTorch writes and reads them: a reader over mapped bytes that trusts nothing a file
// says, and a writer that lays records out like PyTorch's own. Imitates
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

// Bytes with what keeps them alive: the mapped file, or the heap when they were inflated.
struct Record {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  // How many times more these are than their bytes in the outermost zip file that they were read
  // from. For JSON that deflates well it is less: Archive::read.
  double growth = 1;

  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  // For what is decoded from these, and zip files that they hold: the ratios count bytes as they
  // are in the file, so that deflating in layers does not multiply them.
  Limits limits_inside(const Limits& of_file) const;
};

// A record that owns a copy of `bytes`.
Record make_record(std::string bytes);
// The whole file, mapped. Error `io`.
Result<Record> map_file(const std::string& path);

// One record of the central directory, checked against its local header.
struct Entry {
  std::string name;              // raw bytes, UTF-8 by convention
  uint64_t size = 0;             // bytes of the content
  uint64_t compressed_size = 0;  // bytes in the file; equals `size` when stored
  uint64_t header_offset = 0;
  uint64_t data_offset = 0;
  uint32_t crc = 0;
  bool deflated = false;
};

// The directory of one zip file. Copies share the bytes. Reading is const and safe from any number
// of threads.
class ZipReader {
 public:
  // Reads the directory and the local headers, never the contents: O(entries log entries). `owner`
  // keeps `bytes` alive. Errors: `malformed` (not a zip, or names that leave the archive or occur
  // twice), `corrupt` (cut off, overlapping, lying sizes), `unsupported` (encryption, other
  // compression, several disks), `limit`. Warnings (V101, V102) go to `diagnostics`. `where` is the
  // entry's name.
  static Result<ZipReader> open(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                const Limits& limits, Diagnostics& diagnostics);
  // The same of a zip file that is a record of another.
  static Result<ZipReader> open(const Record& record, const Limits& limits,
                                Diagnostics& diagnostics);

  // Presents a file that is no zip as the only entry of one.
  static ZipReader of_single(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                             std::string name);

  // In the order of the central directory, which is the order in which PyTorch wrote them.
  std::span<const Entry> entries() const { return entries_; }
  // nullptr when there is none. O(log entries).
  const Entry* find(std::string_view name) const;
  // The content: a view of the file when stored, inflated into new memory otherwise. A wrong CRC-32
  // is `corrupt`; only a stored entry may skip the check, which has to read every byte.
  Result<Record> read(const Entry& entry, bool check_crc = true) const;
  // Reads the content and compares its CRC-32. Error `corrupt`.
  Result<void> check_crc(const Entry& entry) const;
  std::span<const std::byte> bytes() const { return bytes_; }
  // Where the central directory begins, behind all entries.
  uint64_t directory_offset() const { return directory_offset_; }

 private:
  std::span<const std::byte> bytes_;
  uint64_t directory_offset_ = 0;
  std::shared_ptr<const void> owner_;
  std::vector<Entry> entries_;
  std::vector<uint32_t> by_name_;
  double growth_ = 1;  // of the record that this is
};

// Reports that `done` of `total` bytes are done. Called from any thread, one at a time.
using Progress = std::function<void(uint64_t done, uint64_t total)>;
// Checks the CRC-32 of every entry with up to `threads` threads and adds V103 for each that
// differs, in file order.
void check_all_crcs(const ZipReader& zip, Diagnostics& diagnostics, unsigned threads = 1,
                    const Progress& progress = {});

// Where written bytes go. `finish` makes the result visible; a sink destroyed before that leaves
// nothing behind.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual Result<void> write(std::span<const std::byte> bytes) = 0;
  // As write, for bytes that the caller keeps alive and unchanged as long as the sink's result is
  // used: a sink may remember where they are instead of copying them.
  virtual Result<void> write_lasting(std::span<const std::byte> bytes) { return write(bytes); }
  // As write_lasting, for bytes that `origin` holds.
  virtual Result<void> write_from(const Origin& origin, std::span<const std::byte> bytes);
  // Whether write_lasting would only remember where these bytes are, and not read them.
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

// The bytes as a list of pieces: lasting ones by reference, the rest copied. How a large file
// inside another is made without being in memory as a whole.
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

// Writes to a file without a name, or with a temporary one. In `finish` it takes the place of
// `path`: a reader sees the old file or the new one, never half of it, and a file may be rewritten
// from its own mapped records. The new file takes the permissions of the one that it replaces and
// is on the disk when finish returns. Where `path` is a link, the file that it leads to is replaced
// and the link stays; as for `cp`, a link to nothing is an error. A device or pipe is written
// directly. Errors `io`.
class FileSink : public Sink {
 public:
  static Result<std::unique_ptr<FileSink>> create(std::string path);
  ~FileSink() override;
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;
  Result<void> write(std::span<const std::byte> bytes) override;
  // Copied by the kernel where it can; holes stay holes.
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
  // PyTorchStreamWriter: contents at multiples of 64, data descriptors, a ZIP64 end record always.
  torch,
  // Python's zipfile with ZIP_STORED, as torch.export.save of 2.1 to 2.7 uses it: no padding.
  python,
};

// Writes stored entries one after another; the same calls give the same bytes (times are the zip
// epoch).
class ZipWriter {
 public:
  // `origin`, which outlives the writer, knows some of the bytes that will be added.
  ZipWriter(Sink& sink, ZipStyle style, const Origin* origin = nullptr);
  // As above; sizes and offsets from `first_in_64` on take the ZIP64 form, which PyTorch begins at
  // 4 GiB. Smaller ones are for tests.
  ZipWriter(Sink& sink, ZipStyle style, uint64_t first_in_64);
  // Errors: `argument` for a name that ZipReader would refuse, or that was added before; the
  // sink's; `corrupt` for a record of the origin that is not what its archive says. Content of
  // several parts lies in one piece in the file. The bytes are read here, once for the checksum and
  // once by the sink, which gets them as lasting ones.
  Result<void> add(std::string_view name, std::span<const Record> parts);
  Result<void> add(std::string_view name, std::span<const std::byte> bytes);
  // The text is copied where a sink would keep it.
  Result<void> add(std::string_view name, std::string_view text);
  // What PyTorchStreamWriter would write into .data/serialization_id after these entries: a hash of
  // their names below the root folder, in the order of its hash table, and one of their checksums
  // (writeSerializationId). O(entries).
  std::string serialization_id() const;
  // The number of entries whose names begin with `prefix`.
  size_t count_prefix(std::string_view prefix) const;
  // Writes the directory and finishes the sink; nothing may be added afterwards.
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
