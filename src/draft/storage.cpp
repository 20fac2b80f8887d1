#include "draft/storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "archive/crc32.h"
#include "base/base64.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/try_at.h"
#include "pt2/format/zip.h"

namespace pt2 {
namespace {

constexpr std::string_view kCrc32 = "crc32:";

Error invalid_storage(std::string message) { return {ErrorCode::invalid, std::move(message), {}}; }

// Returns the size of the numbers to swap; the parts of a complex number are swapped separately.
size_t number_size(Dtype dtype) {
  const auto size = static_cast<size_t>(dtype_size(dtype));
  const bool is_complex =
      dtype == Dtype::complex32 || dtype == Dtype::complex64 || dtype == Dtype::complex128;
  return is_complex ? size / 2 : size;
}

// Finds a regular file in the folder itself. A path or a link could lead anywhere, and a pipe would
// block.
Result<std::string> find_beside(const std::string& location, const std::string& folder) {
  if (folder.empty())
    return Error{
        ErrorCode::argument, "external data needs a draft that was opened by its path", {}};
  if (!is_file_name(location))
    return invalid_storage(
        fmt::format("found '{}', expected the bare name of a file", printable(location)));
  const std::filesystem::path path = std::filesystem::path(folder) / location;
  std::error_code code;
  const auto status = std::filesystem::symlink_status(path, code);
  if (!std::filesystem::exists(status))
    return Error{ErrorCode::io, fmt::format("there is no file '{}'", printable(location)), {}};
  if (!std::filesystem::is_regular_file(status))
    return invalid_storage(fmt::format("'{}' is not a plain file", printable(location)));
  return path.string();
}

Result<uint64_t> read_size(const std::string& text) {
  const auto number = parse_int(text);
  if (!number || *number < 0)
    return invalid_storage(fmt::format("found '{}', expected a number of bytes", printable(text)));
  return static_cast<uint64_t>(*number);
}

Result<void> check_checksum(std::span<const std::byte> bytes, const std::string& checksum) {
  if (!checksum.starts_with(kCrc32))
    return Error{ErrorCode::unsupported,
                 fmt::format("found '{}', expected crc32: and eight digits", printable(checksum)),
                 ".checksum"};
  const std::string found = print_checksum(bytes);
  if (found == checksum) return {};
  return Error{ErrorCode::corrupt,
               fmt::format("the data has {}, expected {}", found, printable(checksum)),
               ".checksum"};
}

std::shared_ptr<Storage> native_storage(std::span<const std::byte> bytes, Dtype dtype) {
  auto storage = Storage::allocate(bytes.size());
  std::ranges::copy(bytes, storage->data());
  swap_byte_order({storage->data(), storage->size()}, dtype);
  return storage;
}

Result<Sizes> literal_sizes(const draft::List<draft::SymInt>& numbers, std::string_view field) {
  Sizes sizes;
  for (const draft::SymInt& number : numbers) {
    const int64_t* literal = number.get_if<draft::SymIntCase::as_int>();
    if (literal == nullptr)
      return Error{ErrorCode::invalid, "found a symbol, expected numbers", std::string(field)};
    sizes.push_back(*literal);
  }
  return sizes;
}

}  // namespace

void swap_byte_order(std::span<std::byte> bytes, Dtype dtype) {
  const auto width = static_cast<std::ptrdiff_t>(number_size(dtype));
  if (width == 1) return;
  for (auto at = bytes.begin(); bytes.end() - at >= width; at += width)
    std::reverse(at, at + width);
}

std::string print_checksum(std::span<const std::byte> bytes) {
  return fmt::format("{}{:08x}", kCrc32, crc32(0, bytes));
}

Result<const Record*> DraftTensorReader::find_file(const std::string& location) {
  const auto known = files_.find(location);
  if (known != files_.end()) return &known->second;
  PT2_TRY(const std::string path, find_beside(location, folder_));
  PT2_TRY(Record file, map_file(path));
  bytes_left_ += file.bytes.size();
  return &files_.emplace(location, std::move(file)).first->second;
}

Result<std::shared_ptr<Storage>> DraftTensorReader::read_external(
    const draft::ExternalBuffer& buffer, Dtype dtype) {
  PT2_TRY_AT(const uint64_t offset, ".offset", read_size(buffer.offset));
  PT2_TRY_AT(const uint64_t length, ".length", read_size(buffer.length));
  PT2_TRY_AT(const Record* file, ".location", find_file(buffer.location));
  const uint64_t size = file->bytes.size();
  if (offset > size || length > size - offset)
    return Error{ErrorCode::corrupt,
                 fmt::format("found {} bytes in '{}', expected {} from byte {} on", size,
                             printable(buffer.location), length, offset),
                 ".length"};
  std::shared_ptr<Storage>& storage =
      storages_[{buffer.location, offset, length, buffer.checksum, number_size(dtype)}];
  if (storage) return storage;
  if (length > bytes_left_)
    return Error{ErrorCode::limit, "the storages overlap: they have more bytes than their files",
                 ".length"};
  const auto bytes = file->bytes.subspan(offset, length);
  PT2_TRY_VOID(check_checksum(bytes, buffer.checksum));
  bytes_left_ -= length;
  return storage = native_storage(bytes, dtype);
}

Result<std::shared_ptr<Storage>> DraftTensorReader::read_storage(const draft::Storage& storage,
                                                                 Dtype dtype) {
  using enum draft::StorageDataCase;
  const bool is_external = storage.data_location == draft::DataLocation::External;
  if (storage.data.is(unknown) || is_external != storage.data.is(ExternalBuffer))
    return invalid_storage("data_location and data do not agree");
  if (is_external) {
    auto read = read_external(storage.data.get<ExternalBuffer>(), dtype);
    if (!read) return at(std::move(read).error(), ".data.ExternalBuffer");
    return read;
  }
  const auto bytes = decode_base64(storage.data.get<Buffer>().buffer);
  if (!bytes)
    return Error{ErrorCode::malformed, "found something other than base64", ".data.Buffer"};
  return native_storage(*bytes, dtype);
}

Result<Tensor> DraftTensorReader::read(const draft::Tensor& tensor) {
  const auto number = static_cast<int64_t>(tensor.meta.dtype);
  const auto dtype = find_dtype_by_schema_number(number);
  if (!dtype)
    return Error{ErrorCode::invalid, fmt::format("found the dtype {}", number), ".meta.dtype"};
  if (tensor.meta.layout != draft::Layout::strided)
    return Error{ErrorCode::unsupported, "the layout is not strided", ".meta.layout"};
  PT2_TRY(Sizes sizes, literal_sizes(tensor.meta.sizes, ".meta.sizes"));
  PT2_TRY(Sizes strides, literal_sizes(tensor.meta.strides, ".meta.strides"));
  PT2_TRY(const Sizes offset, literal_sizes({tensor.meta.storage_offset}, ".meta.storage_offset"));
  PT2_TRY_AT(auto storage, ".storage", read_storage(tensor.storage, *dtype));
  auto view =
      Tensor::view_of(std::move(storage), *dtype, std::move(sizes), std::move(strides), offset[0]);
  if (!view) return at(std::move(view).error(), ".meta");
  return view;
}

}  // namespace pt2
