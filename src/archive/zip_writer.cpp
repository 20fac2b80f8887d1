#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <thread>

#include "archive/crc32.h"
#include "archive/serialization_id.h"
#include "archive/zip_format.h"
#include "base/mapped_file.h"
#include "base/printable.h"
#include "pt2/format/origin.h"
#include "pt2/format/zip.h"

namespace pt2 {
namespace {

using namespace zip;

class FieldWriter {
 public:
  template <std::unsigned_integral T>
  FieldWriter& put(T value) {
    for (size_t i = 0; i < sizeof(T); ++i)
      text_ += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
    return *this;
  }
  FieldWriter& put_text(std::string_view text) {
    text_ += text;
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

template <std::unsigned_integral T>
T clamp_to(uint64_t value) {
  return static_cast<T>(std::min<uint64_t>(value, static_cast<T>(~T{0})));
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

constexpr uint64_t kAlignment = 64;
// DOS date 1980-01-01, the earliest possible date; PyTorch's writer writes 0 instead.
constexpr uint16_t kEpochDate = 0x0021;

// The numbers that differ between the two writers.
struct StyleRow {
  uint16_t made_by;
  uint16_t needed;
  uint16_t date;
  uint32_t attributes;
  // The smallest number that goes to the ZIP64 extra field or end record. Python's zipfile starts
  // at signed 32 bits.
  uint64_t first_64;
  bool always_end64;
  uint16_t end64_version;
};
constexpr StyleRow kStyles[] = {
    /* torch  */ {0, 0, 0, 0, kIn64, true, 0},
    /* python */ {0x0314, 20, kEpochDate, 0600u << 16, 0x80000000u, false, 45},
};
const StyleRow& row(ZipStyle style) { return kStyles[static_cast<size_t>(style)]; }

// PyTorchStreamWriter marks every name as UTF-8 and every non-empty entry as followed by its data
// descriptor; zipfile marks only names that are not ASCII.
uint16_t flags_of(ZipStyle style, std::string_view name, uint64_t size) {
  if (style == ZipStyle::torch)
    return static_cast<uint16_t>(kFlagUtf8 | (size > 0 ? kFlagDescriptor : 0));
  return is_ascii(name) ? 0 : kFlagUtf8;
}

// The ZIP64 extra field of PyTorch's local headers. It is written before the sizes are known, and
// unlike in APPNOTE it also holds the offset (miniz mz_zip_writer_create_zip64_extra_data).
std::string torch_extra64(uint64_t size, uint64_t offset, uint64_t first_in_64) {
  FieldWriter numbers;
  if (size >= first_in_64) numbers.put(size).put(uint64_t{0});
  if (offset >= first_in_64) numbers.put(offset);
  std::string content = numbers.take();
  if (content.empty()) return content;
  return FieldWriter()
      .put(kExtra64)
      .put(static_cast<uint16_t>(content.size()))
      .put_text(content)
      .take();
}

// Returns the extra field "FB", which fills the header up to a multiple of 64 bytes from the file's
// start (caffe2/serialize/inline_container.cc, getPadding).
std::string torch_padding(uint64_t header_end) {
  const uint64_t start = header_end + 4;
  const uint64_t count = (kAlignment - start % kAlignment) % kAlignment;
  return FieldWriter()
      .put_text("FB")
      .put(static_cast<uint16_t>(count))
      .put_text(std::string(count, 'Z'))
      .take();
}

// The bytes of a large record that are in memory at a time: a file of many gigabytes is written
// from its mapped pages in little memory.
constexpr size_t kWrittenChunk = size_t{32} << 20;
// The pages of smaller records may stay in memory.
constexpr size_t kLarge = size_t{1} << 20;

template <class Visit>
Result<void> for_each_chunk(std::span<const std::byte> bytes, Visit visit) {
  const bool is_large = bytes.size() >= kLarge;
  while (!bytes.empty()) {
    const auto chunk = bytes.first(std::min(bytes.size(), kWrittenChunk));
    PT2_TRY_VOID(visit(chunk));
    if (is_large) release_pages(chunk);
    bytes = bytes.subspan(chunk.size());
  }
  return {};
}

}  // namespace

ZipWriter::ZipWriter(Sink& sink, ZipStyle style, const Origin* origin)
    : ZipWriter(sink, style, row(style).first_64) {
  origin_ = origin;
}

ZipWriter::ZipWriter(Sink& sink, ZipStyle style, uint64_t first_in_64)
    : sink_(sink), style_(style), first_in_64_(first_in_64) {}

Result<void> ZipWriter::write(std::string_view bytes) {
  PT2_TRY_VOID(sink_.write(std::as_bytes(std::span(bytes))));
  cursor_ += bytes.size();
  return {};
}

Result<void> ZipWriter::check_name(std::string_view name) {
  std::string_view fault = name_fault(name);
  if (name.size() > UINT16_MAX) fault = "is longer than 65535 bytes";
  if (fault.empty() && !names_.emplace(name).second) fault = "was added before";
  if (!fault.empty())
    return Error{ErrorCode::argument, fmt::format("the entry's name {}", fault), printable(name)};
  return {};
}

std::string ZipWriter::local_header(const Written& entry) const {
  const StyleRow& style = row(style_);
  const bool torch = style_ == ZipStyle::torch;
  const bool in64 = entry.size >= first_in_64_;
  std::string extra;
  if (torch) {
    extra = torch_extra64(entry.size, entry.header_offset, first_in_64_);
    extra +=
        torch_padding(entry.header_offset + kLocalHeaderBytes + entry.name.size() + extra.size());
  } else if (in64) {
    extra = FieldWriter().put(kExtra64).put(uint16_t{16}).put(entry.size).put(entry.size).take();
  }
  const uint32_t size = torch ? 0 : in64 ? kIn64 : static_cast<uint32_t>(entry.size);
  return FieldWriter()
      .put(kLocalHeader)
      .put(static_cast<uint16_t>(!torch && in64 ? style.end64_version : style.needed))
      .put(flags_of(style_, entry.name, entry.size))
      .put(kStored)
      .put(uint16_t{0})
      .put(style.date)
      .put(torch ? uint32_t{0} : entry.crc)
      .put(size)
      .put(size)
      .put(static_cast<uint16_t>(entry.name.size()))
      .put(static_cast<uint16_t>(extra.size()))
      .put_text(entry.name)
      .put_text(extra)
      .take();
}

std::string ZipWriter::data_descriptor(const Written& entry) const {
  if (style_ != ZipStyle::torch || entry.size == 0) return "";
  FieldWriter descriptor;
  descriptor.put(kDataDescriptor).put(entry.crc);
  if (entry.size >= first_in_64_ || entry.header_offset >= first_in_64_) {
    descriptor.put(entry.size).put(entry.size);
  } else {
    descriptor.put(static_cast<uint32_t>(entry.size)).put(static_cast<uint32_t>(entry.size));
  }
  return descriptor.take();
}

std::string ZipWriter::directory_record(const Written& entry) const {
  const StyleRow& style = row(style_);
  const bool size64 = entry.size >= first_in_64_;
  const bool offset64 = entry.header_offset >= first_in_64_;
  FieldWriter numbers;
  if (size64) numbers.put(entry.size).put(entry.size);
  if (offset64) numbers.put(entry.header_offset);
  const std::string content = numbers.take();
  FieldWriter extra;
  if (!content.empty())
    extra.put(kExtra64).put(static_cast<uint16_t>(content.size())).put_text(content);
  const std::string extra_text = extra.take();
  const bool newer = style_ == ZipStyle::python && !content.empty();
  const uint32_t size = size64 ? kIn64 : static_cast<uint32_t>(entry.size);
  return FieldWriter()
      .put(kDirectoryRecord)
      .put(static_cast<uint16_t>(newer ? (style.made_by & 0xFF00) | style.end64_version
                                       : style.made_by))
      .put(static_cast<uint16_t>(newer ? style.end64_version : style.needed))
      .put(flags_of(style_, entry.name, entry.size))
      .put(kStored)
      .put(uint16_t{0})
      .put(style.date)
      .put(entry.crc)
      .put(size)
      .put(size)
      .put(static_cast<uint16_t>(entry.name.size()))
      .put(static_cast<uint16_t>(extra_text.size()))
      .put(uint16_t{0})
      .put(uint16_t{0})
      .put(uint16_t{0})
      .put(style.attributes)
      .put(offset64 ? kIn64 : static_cast<uint32_t>(entry.header_offset))
      .put_text(entry.name)
      .put_text(extra_text)
      .take();
}

std::string ZipWriter::end_records(uint64_t directory_offset, uint64_t directory_size) const {
  const StyleRow& style = row(style_);
  const uint64_t count = written_.size();
  const bool end64 = style.always_end64 || count >= kCountIn64 ||
                     directory_offset >= first_in_64_ || directory_size >= first_in_64_;
  const uint16_t made_by = style_ == ZipStyle::torch ? 0x031E : style.end64_version;
  const uint16_t needed = style_ == ZipStyle::torch ? 0x002D : style.end64_version;
  FieldWriter end;
  if (end64) {
    end.put(kEnd64)
        .put(kEnd64Bytes - 12)
        .put(made_by)
        .put(needed)
        .put(uint32_t{0})
        .put(uint32_t{0});
    end.put(count).put(count).put(directory_size).put(directory_offset);
    end.put(kEnd64Locator).put(uint32_t{0}).put(directory_offset + directory_size).put(uint32_t{1});
  }
  end.put(kEnd).put(uint16_t{0}).put(uint16_t{0});
  end.put(clamp_to<uint16_t>(count)).put(clamp_to<uint16_t>(count));
  end.put(clamp_to<uint32_t>(directory_size))
      .put(clamp_to<uint32_t>(directory_offset))
      .put(uint16_t{0});
  return end.take();
}

Result<void> ZipWriter::begin(std::string_view name, uint64_t size, uint32_t crc) {
  PT2_TRY_VOID(check_name(name));
  written_.push_back(
      {.name = std::string(name), .size = size, .header_offset = cursor_, .crc = crc});
  return write(local_header(written_.back()));
}

// Computes the checksum for Python's headers, which precede the content. A checksum in the original
// archive saves reading the record twice.
Result<uint32_t> ZipWriter::crc_before(std::span<const Record> parts) const {
  uint32_t crc = 0;
  for (const Record& part : parts) {
    const Entry* entry = origin_ ? origin_->entry_of(part.bytes) : nullptr;
    if (entry != nullptr) {
      crc = combine_crc32(crc, entry->crc, entry->size);
    } else if (origin_ && origin_->holds(part.bytes)) {
      PT2_TRY(const uint32_t part_crc, origin_->crc(part.bytes));
      crc = combine_crc32(crc, part_crc, part.bytes.size());
    } else {
      PT2_TRY_VOID(for_each_chunk(part.bytes, [&](std::span<const std::byte> chunk) {
        crc = crc32(crc, chunk);
        return Result<void>();
      }));
    }
  }
  return crc;
}

Result<uint32_t> ZipWriter::write_part(std::span<const std::byte> bytes) {
  const Entry* entry = origin_ ? origin_->entry_of(bytes) : nullptr;
  // The consumer of the sink's result reads the bytes later and checks them then.
  if (entry != nullptr && sink_.remembers(bytes)) {
    PT2_TRY_VOID(sink_.write_lasting(bytes));
    return entry->crc;
  }
  const bool copies = bytes.size() >= kLarge && origin_ && origin_->holds(bytes);
  PT2_TRY(const uint32_t crc, copies ? copy_and_sum(bytes) : write_and_sum(bytes));
  if (origin_) PT2_TRY_VOID(origin_->check_crc(bytes, crc));
  return crc;
}

Result<uint32_t> ZipWriter::write_and_sum(std::span<const std::byte> bytes) {
  uint32_t crc = 0;
  PT2_TRY_VOID(for_each_chunk(bytes, [&](std::span<const std::byte> chunk) {
    crc = crc32(crc, chunk);
    return sink_.write_lasting(chunk);
  }));
  return crc;
}

// Computes the checksum in a thread of its own: it takes half as long as the copy, so it costs no
// extra time.
Result<uint32_t> ZipWriter::copy_and_sum(std::span<const std::byte> bytes) {
  Result<uint32_t> crc = 0u;
  std::thread summing([&] { crc = origin_->crc(bytes); });
  const Result<void> written = sink_.write_from(*origin_, bytes);
  summing.join();
  if (!written) return written.error();
  return crc;
}

Result<void> ZipWriter::add(std::string_view name, std::span<const Record> parts) {
  uint64_t size = 0;
  for (const Record& part : parts) size += part.bytes.size();
  uint32_t crc_in_header = 0;
  if (style_ == ZipStyle::python) {
    PT2_TRY(crc_in_header, crc_before(parts));
  }
  PT2_TRY_VOID(begin(name, size, crc_in_header));
  uint32_t crc = 0;
  for (const Record& part : parts) {
    PT2_TRY(const uint32_t part_crc, write_part(part.bytes));
    crc = combine_crc32(crc, part_crc, part.bytes.size());
  }
  written_.back().crc = crc;
  cursor_ += size;
  return write(data_descriptor(written_.back()));
}

Result<void> ZipWriter::add(std::string_view name, std::span<const std::byte> bytes) {
  const Record whole{bytes, nullptr};
  return add(name, std::span(&whole, 1));
}

Result<void> ZipWriter::add(std::string_view name, std::string_view text) {
  PT2_TRY_VOID(begin(name, text.size(), crc32(0, std::as_bytes(std::span(text)))));
  PT2_TRY_VOID(write(text));
  return write(data_descriptor(written_.back()));
}

std::string ZipWriter::serialization_id() const {
  SerializationId id;
  for (const Written& entry : written_) id.add(entry.name, entry.size, entry.crc);
  return id.text();
}

size_t ZipWriter::count_prefix(std::string_view prefix) const {
  return static_cast<size_t>(std::ranges::count_if(
      written_, [&](const Written& entry) { return entry.name.starts_with(prefix); }));
}

Result<void> ZipWriter::finish() {
  const uint64_t directory_offset = cursor_;
  for (const Written& entry : written_) PT2_TRY_VOID(write(directory_record(entry)));
  PT2_TRY_VOID(write(end_records(directory_offset, cursor_ - directory_offset)));
  return sink_.finish();
}

}  // namespace pt2
