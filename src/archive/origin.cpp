#include "pt2/format/origin.h"

#include <algorithm>
#include <functional>

#include "archive/crc32.h"
#include "archive/zip_directory.h"
#include "base/mapped_file.h"
#include "base/platform/files.h"
#include "base/printable.h"

namespace pt2 {
namespace {

// Small enough to stay in the processor's cache between reading and summing.
constexpr size_t kHashBuffer = size_t{1} << 18;

bool lies_in(std::span<const std::byte> bytes, std::span<const std::byte> whole) {
  const std::less_equal<const std::byte*> is_before;
  return is_before(whole.data(), bytes.data()) &&
         is_before(bytes.data() + bytes.size(), whole.data() + whole.size());
}

}  // namespace

Origin::Origin(const Archive& archive)
    : zip_(archive.zip()), file_(archive.file()), name_(archive.name()) {
  for (const Entry& entry : zip_.entries())
    if (!entry.deflated && entry.size > 0) by_offset_.push_back(&entry);
  std::ranges::sort(by_offset_, {}, &Entry::data_offset);
  for (const Entry* entry : by_offset_)
    if (const Role role = archive.role(*entry).role;
        role == Role::weights || role == Role::constants)
      add_nested(*entry, archive.limits());
  if (file_) descriptor_ = file_->reopen();
}

Origin::~Origin() {
  if (descriptor_ >= 0) files::close(descriptor_);
}

bool Origin::holds(std::span<const std::byte> bytes) const {
  return descriptor_ >= 0 && lies_in(bytes, file_->bytes());
}

uint64_t Origin::offset_of(std::span<const std::byte> bytes) const {
  return static_cast<uint64_t>(bytes.data() - file_->bytes().data());
}

Origin::Extent Origin::first_extent(std::span<const std::byte> bytes) const {
  const auto [size, is_hole] = files::first_extent(descriptor_, offset_of(bytes), bytes.size());
  return {size, is_hole};
}

Result<std::span<const std::byte>> Origin::read(std::span<const std::byte> bytes,
                                                std::span<std::byte> buffer) const {
  const size_t wanted = std::min(bytes.size(), buffer.size());
  for (size_t done = 0; done < wanted;) {
    const int64_t count =
        files::read_at(descriptor_, buffer.subspan(done, wanted - done), offset_of(bytes) + done);
    if (count < 0) return io_error("cannot read: " + files::reason());
    if (count == 0) return io_error("the file became shorter while it was read");
    done += static_cast<size_t>(count);
  }
  return std::span<const std::byte>(buffer.first(wanted));
}

Result<uint32_t> Origin::crc(std::span<const std::byte> bytes) const {
  std::vector<std::byte> buffer(std::min(bytes.size(), kHashBuffer));
  uint32_t crc = 0;
  while (!bytes.empty()) {
    const Extent extent = first_extent(bytes);
    if (extent.is_hole) crc = crc32_of_zeros(crc, extent.size);
    for (auto rest = bytes.first(extent.is_hole ? 0 : extent.size); !rest.empty();) {
      PT2_TRY(const std::span<const std::byte> part, read(rest, buffer));
      crc = crc32(crc, part);
      rest = rest.subspan(part.size());
    }
    bytes = bytes.subspan(extent.size);
  }
  return crc;
}

void Origin::add_nested(const Entry& record, const Limits& limits) {
  Diagnostics ignored;
  const auto inner = ZipReader::open(zip_.bytes().subspan(record.data_offset, record.size), nullptr,
                                     limits, ignored);
  // Damage is reported when tensors are read from the record.
  if (!inner) return;
  const size_t first = nested_.size();
  for (const Entry& entry : inner->entries())
    if (!entry.deflated && entry.size > 0)
      nested_.push_back({record.data_offset + entry.data_offset, entry.size, entry.crc, &record});
  std::ranges::sort(nested_.begin() + static_cast<std::ptrdiff_t>(first), nested_.end(), {},
                    &Nested::offset);
}

uint64_t Origin::offset_in_zip(std::span<const std::byte> bytes) const {
  return static_cast<uint64_t>(bytes.data() - zip_.bytes().data());
}

const Entry* Origin::entry_of(std::span<const std::byte> bytes) const {
  if (bytes.empty() || !lies_in(bytes, zip_.bytes())) return nullptr;
  const uint64_t offset = offset_in_zip(bytes);
  const auto found = std::ranges::lower_bound(by_offset_, offset, {}, &Entry::data_offset);
  if (found == by_offset_.end()) return nullptr;
  return (*found)->data_offset == offset && (*found)->size == bytes.size() ? *found : nullptr;
}

Result<void> Origin::check_crc(std::span<const std::byte> bytes, uint32_t found) const {
  if (bytes.empty() || !lies_in(bytes, zip_.bytes())) return {};
  if (const Entry* entry = entry_of(bytes)) return compare(*entry, found);
  const auto inner = std::ranges::lower_bound(nested_, offset_in_zip(bytes), {}, &Nested::offset);
  if (inner == nested_.end() || inner->offset != offset_in_zip(bytes) ||
      inner->size != bytes.size() || inner->crc == found)
    return {};
  const auto record = zip_.bytes().subspan(inner->record->data_offset, inner->record->size);
  if (!holds(record)) return compare(*inner->record, crc32(0, record));
  PT2_TRY(const uint32_t whole, crc(record));
  return compare(*inner->record, whole);
}

Result<void> Origin::compare(const Entry& entry, uint32_t found) const {
  Result<void> checked = zip::compare_crc(entry, found);
  if (checked) return checked;
  return at(std::move(checked).error(), name_ + "!");
}

Error Origin::io_error(std::string message) const {
  return {ErrorCode::io, std::move(message), name_};
}

}  // namespace pt2
