#include <fmt/format.h>
#include <libdeflate.h>

#include <algorithm>
#include <numeric>

#include "archive/crc32.h"
#include "archive/zip_directory.h"
#include "archive/zip_format.h"
#include "base/printable.h"
#include "pt2/format/zip.h"

namespace pt2 {
namespace {

Error entry_error(const Entry& entry, ErrorCode code, std::string message) {
  return {code, std::move(message), printable(entry.name)};
}

// Small records may compress well without being bombs; only a record that inflates to more than
// this must keep the ratio.
constexpr uint64_t kAlwaysInflated = 1 << 20;

bool is_within_ratio(uint64_t size, uint64_t compressed, uint64_t ratio) {
  return size <= kAlwaysInflated || size / std::max<uint64_t>(ratio, 1) <= compressed;
}

Result<void> check_limits(const Entry& entry, const Limits& limits) {
  if (!entry.deflated) return {};
  if (entry.size > limits.max_inflated_bytes)
    return entry_error(entry, ErrorCode::limit,
                       fmt::format("inflates to {} bytes, more than max_inflated_bytes {}",
                                   entry.size, limits.max_inflated_bytes));
  if (!is_within_ratio(entry.size, entry.compressed_size, limits.max_inflate_ratio))
    return entry_error(entry, ErrorCode::limit,
                       fmt::format("{} bytes inflate to {}, more than max_inflate_ratio {} allows",
                                   entry.compressed_size, entry.size, limits.max_inflate_ratio));
  return {};
}

// Checks the ratio for all small records together.
Result<void> check_sum(std::span<const Entry> entries, const Limits& limits) {
  uint64_t size = 0, compressed = 0;
  for (const Entry& entry : entries) {
    if (!entry.deflated) continue;
    size += entry.size;  // at most max_inflated_bytes each
    compressed += entry.compressed_size;
    if (!is_within_ratio(size, compressed, limits.max_inflate_ratio))
      return entry_error(
          entry, ErrorCode::limit,
          fmt::format("the deflated entries up to this one inflate to {} bytes, more "
                      "than max_inflate_ratio {} allows",
                      size, limits.max_inflate_ratio));
  }
  return {};
}

// Contents must not share bytes: small files use overlapping entries to claim petabytes (zip
// bombs).
Result<void> check_overlap(std::span<const Entry> entries) {
  std::vector<const Entry*> order;
  for (const Entry& entry : entries) order.push_back(&entry);
  std::ranges::sort(order, {}, &Entry::header_offset);
  if (!order.empty() && order.front()->header_offset != 0)
    return entry_error(
        *order.front(), ErrorCode::corrupt,
        fmt::format("found {} bytes in front of the first entry", order.front()->header_offset));
  for (size_t i = 1; i < order.size(); ++i)
    if (order[i]->header_offset < order[i - 1]->data_offset + order[i - 1]->compressed_size)
      return entry_error(*order[i], ErrorCode::corrupt,
                         fmt::format("overlaps entry {}", printable(order[i - 1]->name)));
  return {};
}

std::vector<uint32_t> sort_by_name(std::span<const Entry> entries) {
  std::vector<uint32_t> order(entries.size());
  std::iota(order.begin(), order.end(), uint32_t{0});
  std::ranges::stable_sort(order, {},
                           [&](uint32_t i) { return std::string_view(entries[i].name); });
  return order;
}

Result<void> check_duplicates(std::span<const Entry> entries, std::span<const uint32_t> by_name) {
  const auto same_name = [&](uint32_t a, uint32_t b) { return entries[a].name == entries[b].name; };
  const auto first = std::ranges::adjacent_find(by_name, same_name);
  if (first == by_name.end()) return {};
  return entry_error(entries[*first], ErrorCode::malformed, "two entries have this name");
}

Result<Record> inflate(const Entry& entry, std::span<const std::byte> compressed) {
  auto memory = std::make_shared<std::vector<std::byte>>(entry.size);
  libdeflate_decompressor* decompressor = libdeflate_alloc_decompressor();
  if (decompressor == nullptr) throw std::bad_alloc();
  size_t used = 0;
  const libdeflate_result result =
      libdeflate_deflate_decompress_ex(decompressor, compressed.data(), compressed.size(),
                                       memory->data(), memory->size(), &used, nullptr);
  libdeflate_free_decompressor(decompressor);
  if (result != LIBDEFLATE_SUCCESS || used != compressed.size())
    return entry_error(
        entry, ErrorCode::corrupt,
        fmt::format("the deflated bytes do not inflate to the stated {} bytes", entry.size));
  const std::span<const std::byte> bytes(*memory);
  return Record{bytes, std::move(memory),
                static_cast<double>(entry.size) /
                    static_cast<double>(std::max<uint64_t>(entry.compressed_size, 1))};
}

}  // namespace

Limits Record::limits_inside(const Limits& of_file) const {
  Limits limits = of_file;
  if (growth <= 1) return limits;
  for (uint64_t* ratio : {&limits.max_inflate_ratio, &limits.max_json_ratio,
                          &limits.max_program_ratio, &limits.max_pickle_ratio})
    *ratio = static_cast<uint64_t>(static_cast<double>(*ratio) / growth);
  return limits;
}

Result<ZipReader> ZipReader::open(const Record& record, const Limits& limits,
                                  Diagnostics& diagnostics) {
  PT2_TRY(ZipReader reader,
          open(record.bytes, record.owner, record.limits_inside(limits), diagnostics));
  reader.growth_ = record.growth;
  return reader;
}

Result<void> zip::compare_crc(const Entry& entry, uint32_t found) {
  if (found == entry.crc) return {};
  return entry_error(
      entry, ErrorCode::corrupt,
      fmt::format("the content has CRC-32 {:08x}, the directory says {:08x}", found, entry.crc));
}

Result<ZipReader> ZipReader::open(std::span<const std::byte> bytes,
                                  std::shared_ptr<const void> owner, const Limits& limits,
                                  Diagnostics& diagnostics) {
  ZipReader reader;
  reader.bytes_ = bytes;
  reader.owner_ = std::move(owner);
  PT2_TRY(zip::CentralDirectory directory, zip::read_directory(bytes, limits, diagnostics));
  reader.directory_offset_ = directory.offset;
  reader.entries_ = std::move(directory.entries);
  for (const Entry& entry : reader.entries_) PT2_TRY_VOID(check_limits(entry, limits));
  PT2_TRY_VOID(check_sum(reader.entries_, limits));
  PT2_TRY_VOID(check_overlap(reader.entries_));
  reader.by_name_ = sort_by_name(reader.entries_);
  PT2_TRY_VOID(check_duplicates(reader.entries_, reader.by_name_));
  for (const Entry& entry : reader.entries_)
    if (entry.deflated)
      diagnostics.add(Rule::compressed_entry, printable(entry.name), "the entry is deflated");
  return reader;
}

ZipReader ZipReader::of_single(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                               std::string name) {
  ZipReader reader;
  reader.bytes_ = bytes;
  reader.directory_offset_ = bytes.size();
  reader.owner_ = std::move(owner);
  reader.entries_.push_back({.name = std::move(name),
                             .size = bytes.size(),
                             .compressed_size = bytes.size(),
                             .crc = crc32(0, bytes)});
  reader.by_name_ = sort_by_name(reader.entries_);
  return reader;
}

const Entry* ZipReader::find(std::string_view name) const {
  const auto name_of = [&](uint32_t i) { return std::string_view(entries_[i].name); };
  const auto found = std::ranges::lower_bound(by_name_, name, {}, name_of);
  return found != by_name_.end() && name_of(*found) == name ? &entries_[*found] : nullptr;
}

Result<Record> ZipReader::read(const Entry& entry, bool check_crc) const {
  Record record{bytes_.subspan(entry.data_offset, entry.compressed_size), owner_};
  if (entry.deflated) {
    PT2_TRY(record, inflate(entry, record.bytes));
    check_crc = true;
  }
  if (check_crc) PT2_TRY_VOID(zip::compare_crc(entry, crc32(0, record.bytes)));
  record.growth *= growth_;
  return record;
}

Result<void> ZipReader::check_crc(const Entry& entry) const {
  PT2_TRY([[maybe_unused]] const Record record, read(entry, true));
  return {};
}

}  // namespace pt2
