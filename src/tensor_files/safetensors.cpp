#include "pt2/format/safetensors.h"

#include <algorithm>
#include <cstring>

#include "base/byte_cursor.h"
#include "base/hash/text_hash.h"
#include "base/json.h"
#include "base/json_reader.h"
#include "base/printable.h"
#include "tensor_files/bytes.h"
#include "tensor_files/safetensors_header.h"
#include "tensor_files/tensor_pieces.h"

namespace pt2 {
namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr size_t kHeaderLengthBytes = 8;
// The header is padded with blanks to this multiple, as in the reference implementation, to align
// the elements.
constexpr size_t kHeaderAlignment = 8;
constexpr std::string_view kMetadata = "__metadata__";

struct Extent {
  uint64_t begin = 0;
  uint64_t end = 0;
};

Result<const JsonValue*> find_member(const JsonValue& object, std::string_view key) {
  const JsonValue* member = object.find(key);
  if (member == nullptr) return malformed("found no '" + std::string(key) + "'");
  return member;
}

Result<Dtype> read_dtype(const JsonValue& info) {
  PT2_TRY(const JsonValue* member, find_member(info, "dtype"));
  PT2_TRY(const std::string_view name, member->get_string());
  for (const DtypeInfo& known : dtypes())
    if (!known.safetensors_name.empty() && known.safetensors_name == name) return known.dtype;
  return Error{ErrorCode::unsupported, "dtype '" + printable(name) + "' is not supported", ""};
}

Result<Sizes> read_integers(const JsonValue& info, std::string_view key) {
  PT2_TRY(const JsonValue* member, find_member(info, key));
  if (!member->is_array())
    return malformed("found " + std::string(json_kind_name(member->kind)) + " for '" +
                     std::string(key) + "', expected a list");
  Sizes numbers;
  for (const JsonValue& item : member->items) {
    PT2_TRY(const int64_t number, item.get_int());
    if (number < 0)
      return malformed("found " + std::to_string(number) + " in '" + std::string(key) +
                       "', expected at least 0");
    numbers.push_back(number);
  }
  return numbers;
}

Result<Extent> read_extent(const JsonValue& info, uint64_t data_bytes) {
  PT2_TRY(const Sizes offsets, read_integers(info, "data_offsets"));
  if (offsets.size() != 2) return malformed("'data_offsets' has not two numbers");
  if (offsets[0] > offsets[1] || static_cast<uint64_t>(offsets[1]) > data_bytes)
    return Error{ErrorCode::invalid,
                 "data_offsets [" + std::to_string(offsets[0]) + ", " + std::to_string(offsets[1]) +
                     "] reach outside the " + std::to_string(data_bytes) + " bytes of data",
                 ""};
  return Extent{static_cast<uint64_t>(offsets[0]), static_cast<uint64_t>(offsets[1])};
}

Result<Tensor> read_tensor(const JsonValue& info, const Record& record,
                           std::span<const std::byte> data, Extent& extent) {
  if (!info.is_object())
    return malformed("found " + std::string(json_kind_name(info.kind)) + ", expected an object");
  PT2_TRY(const Dtype dtype, read_dtype(info));
  PT2_TRY(Sizes sizes, read_integers(info, "shape"));
  PT2_TRY_VOID(tensor_files::check_dim_count(sizes.size()));
  PT2_TRY(extent, read_extent(info, data.size()));
  const auto numel = checked_numel(sizes);
  int64_t bytes = 0;
  if (!numel || __builtin_mul_overflow(*numel, dtype_size(dtype), &bytes))
    return Error{ErrorCode::invalid, "the number of elements exceeds 64 bits", ""};
  if (extent.end - extent.begin != static_cast<uint64_t>(bytes))
    return Error{ErrorCode::invalid,
                 "data_offsets span " + std::to_string(extent.end - extent.begin) +
                     " bytes, dtype and shape need " + std::to_string(bytes),
                 ""};
  const auto elements = data.subspan(extent.begin, extent.end - extent.begin);
  Sizes strides = contiguous_strides(sizes);
  return Tensor::view_of(tensor_files::storage_in(record, elements, dtype), dtype, std::move(sizes),
                         std::move(strides), 0);
}

// Every byte must belong to exactly one tensor, so that no data is hidden between tensors.
Result<void> check_extents(std::vector<Extent> extents, uint64_t data_bytes) {
  std::ranges::sort(extents, [](const Extent& a, const Extent& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  uint64_t reached = 0;
  for (const Extent& extent : extents) {
    if (extent.begin != reached)
      return Error{ErrorCode::invalid,
                   std::string(extent.begin < reached ? "two tensors share" : "no tensor has") +
                       " byte " + std::to_string(std::min(extent.begin, reached)) + " of the data",
                   ""};
    reached = extent.end;
  }
  if (reached == data_bytes) return {};
  return Error{ErrorCode::invalid,
               std::to_string(data_bytes - reached) + " bytes follow the last tensor", ""};
}

Result<JsonValue> read_header(const Record& record) {
  ByteCursor cursor(record.bytes);
  const auto length = cursor.read<uint64_t>();
  if (cursor.failed() ||
      (cursor.remaining() > 0 && record.bytes[kHeaderLengthBytes] != std::byte{'{'}))
    return malformed("not a safetensors file: found no JSON header");
  if (length > kMaxHeaderBytes)
    return Error{ErrorCode::limit,
                 "the header has " + std::to_string(length) + " bytes, the format allows " +
                     std::to_string(kMaxHeaderBytes),
                 ""};
  const std::string_view text = cursor.read_text(length);
  if (cursor.failed()) return Error{ErrorCode::corrupt, "the file ends inside the header", ""};
  Result<JsonValue> header = parse_json(text, {.max_depth = 8});
  if (!header) return at(std::move(header).error(), "header");
  if (!header->is_object()) return malformed("the header is not a JSON object");
  return header;
}

Result<void> read_metadata(const JsonValue& object, Safetensors& out) {
  if (object.is_null()) return {};  // as the reference implementation reads it
  if (!object.is_object())
    return malformed("found " + std::string(json_kind_name(object.kind)) + ", expected an object");
  for (const auto& [key, value] : object.members) {
    PT2_TRY(const std::string_view text, value.get_string());
    out.metadata.emplace_back(key, text);
  }
  return {};
}

Result<std::string> print_header(const Safetensors& content) {
  JsonWriter json(JsonStyle::compact, false);
  json.begin_object();
  if (!content.metadata.empty()) {
    json.key(kMetadata);
    json.begin_object();
    for (const auto& [key, text] : content.metadata) {
      json.key(key);
      json.string(text);
    }
    json.end_object();
  }
  int64_t offset = 0;
  TextSet<std::string_view> names{kMetadata};
  for (const auto& [name, tensor] : content.tensors) {
    const DtypeInfo& info = dtype_info(tensor.dtype());
    if (info.safetensors_name.empty())
      return Error{ErrorCode::unsupported,
                   "the safetensors format has no dtype " + std::string(info.name) +
                       (info.numpy_descriptor.empty() ? "" : "; write a .npz file instead"),
                   printable(name)};
    if (!names.insert(name).second)
      return Error{ErrorCode::argument, "the name is taken", printable(name)};
    json.key(name);
    json.begin_object();
    json.key("dtype");
    json.string(info.safetensors_name);
    json.key("shape");
    json.begin_array();
    for (int64_t size : tensor.sizes()) json.integer(size);
    json.end_array();
    json.key("data_offsets");
    json.begin_array();
    json.integer(offset);
    json.integer(offset += tensor.nbytes());
    json.end_array();
    json.end_object();
  }
  json.end_object();
  std::string text = json.take();
  text.resize((text.size() + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment, ' ');
  return text;
}

}  // namespace

const std::string* Safetensors::find_metadata(std::string_view key) const {
  for (const auto& [name, text] : metadata)
    if (name == key) return &text;
  return nullptr;
}

Result<Safetensors> read_safetensors(const Record& record) {
  PT2_TRY(const JsonValue header, read_header(record));
  // read_header has checked that the file has this length.
  ByteCursor cursor(record.bytes);
  const std::span<const std::byte> data =
      record.bytes.subspan(kHeaderLengthBytes + cursor.read<uint64_t>());
  Safetensors out;
  std::vector<Extent> extents;
  for (const auto& [name, info] : header.members) {
    if (name == kMetadata) {
      if (Result<void> read = read_metadata(info, out); !read)
        return at(std::move(read).error(), kMetadata);
      continue;
    }
    Result<Tensor> tensor = read_tensor(info, record, data, extents.emplace_back());
    if (!tensor) return at(std::move(tensor).error(), printable(name));
    out.tensors.emplace_back(name, *std::move(tensor));
  }
  PT2_TRY_VOID(check_extents(std::move(extents), data.size()));
  return out;
}

Result<void> tensor_files::write_safetensors_header(const Safetensors& content, Sink& sink) {
  PT2_TRY(const std::string header, print_header(content));
  std::byte length[kHeaderLengthBytes];
  for (size_t i = 0; i < kHeaderLengthBytes; ++i)
    length[i] = static_cast<std::byte>(static_cast<uint64_t>(header.size()) >> (8 * i) & 0xff);
  PT2_TRY_VOID(sink.write(length));
  return sink.write(std::as_bytes(std::span(header)));
}

Result<void> write_safetensors(const Safetensors& content, Sink& sink) {
  PT2_TRY_VOID(tensor_files::write_safetensors_header(content, sink));
  for (const auto& [name, tensor] : content.tensors) {
    PT2_TRY_VOID(for_each_piece(tensor, [&](const Tensor& piece) {
      return sink.write(tensor_files::element_bytes(piece));
    }));
  }
  return sink.finish();
}

}  // namespace pt2
