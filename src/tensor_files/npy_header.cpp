#include "tensor_files/npy_header.h"

#include <algorithm>
#include <string_view>

#include "base/byte_cursor.h"
#include "base/printable.h"
#include "base/text.h"

namespace pt2::tensor_files {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
// numpy.lib.format pads to this multiple so that the elements can be mapped.
constexpr size_t kAlignment = 64;

// Descriptors that are not those of dtype.def. ml_dtypes (JAX) names its dtypes '<V2' and '<f1';
// NumPy's own type of two bytes without meaning is '|V2'.
struct OtherDescriptor {
  std::string_view text;
  Dtype dtype;
};
constexpr OtherDescriptor kOtherDescriptors[] = {
    {"?", Dtype::bool_}, {"<V2", Dtype::bfloat16}, {"<f1", Dtype::float8_e5m2}};

Error header_error(std::string message) {
  return {ErrorCode::malformed, ".npy header: " + std::move(message), ""};
}

// Parses the subset of Python literals that numpy.save writes: one dict of strings, booleans and a
// tuple of integers.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, NpyHeader& header) : text_(text), header_(header) {}

  Result<void> parse() {
    if (!take("{")) return unexpected("'{'");
    while (!take("}")) {
      PT2_TRY(const std::string_view key, parse_string());
      if (!take(":")) return unexpected("':'");
      PT2_TRY_VOID(parse_member(key));
      if (!take(",") && !at("}")) return unexpected("',' or '}'");
    }
    if (position_ != text_.size()) return unexpected("the end");
    for (const Member& member : members_)
      if (!member.found) return header_error("found no '" + std::string(member.name) + "'");
    return {};
  }

 private:
  struct Member {
    std::string_view name;
    Result<void> (HeaderParser::*parse)();
    bool found = false;
  };

  Result<void> parse_member(std::string_view key) {
    const auto member = std::ranges::find(members_, key, &Member::name);
    if (member == std::end(members_)) return header_error("unknown key '" + printable(key) + "'");
    if (member->found) return header_error("'" + printable(key) + "' occurs twice");
    member->found = true;
    return (this->*member->parse)();
  }

  Result<void> parse_descr() {
    if (at("["))
      return Error{ErrorCode::unsupported, ".npy arrays of structures are not supported", ""};
    PT2_TRY(const std::string_view descr, parse_string());
    const auto other = std::ranges::find(kOtherDescriptors, descr, &OtherDescriptor::text);
    if (other != std::end(kOtherDescriptors)) {
      header_.dtype = other->dtype;
      return {};
    }
    // Without a mark the byte order is the machine's, as in numpy.load.
    const bool has_order = !descr.empty() && std::string_view("<>=|").find(descr[0]) != descr.npos;
    for (const DtypeInfo& info : dtypes()) {
      if (info.numpy_descriptor.empty() ||
          info.numpy_descriptor.substr(1) != descr.substr(has_order ? 1 : 0))
        continue;
      header_.dtype = info.dtype;
      header_.swapped = descr[0] == '>' && info.size > 1;
      return {};
    }
    return Error{ErrorCode::unsupported,
                 ".npy arrays of dtype '" + printable(descr) + "' are not supported", ""};
  }

  Result<void> parse_fortran_order() {
    header_.fortran_order = take("True");
    if (!header_.fortran_order && !take("False")) return unexpected("True or False");
    return {};
  }

  Result<void> parse_shape() {
    if (!take("(")) return unexpected("'('");
    while (!take(")")) {
      const size_t start = position_;
      while (position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9')
        ++position_;
      const auto size = parse_int(text_.substr(start, position_ - start));
      if (!size) return unexpected("a size below 2^63");
      header_.sizes.push_back(*size);
      take("L");  // Python 2's mark of long integers
      if (!take(",") && !at(")")) return unexpected("',' or ')'");
    }
    return {};
  }

  Result<std::string_view> parse_string() {
    skip_blanks();
    const char quote = position_ < text_.size() ? text_[position_] : '\0';
    const size_t end =
        quote == '\'' || quote == '"' ? text_.find(quote, position_ + 1) : text_.npos;
    if (end == text_.npos) return unexpected("a string");
    const std::string_view string = text_.substr(position_ + 1, end - position_ - 1);
    position_ = end + 1;
    skip_blanks();
    return string;
  }

  void skip_blanks() {
    while (position_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[position_]) != std::string_view::npos)
      ++position_;
  }

  bool at(std::string_view token) {
    skip_blanks();
    return text_.substr(position_).starts_with(token);
  }

  bool take(std::string_view token) {
    if (!at(token)) return false;
    position_ += token.size();
    skip_blanks();
    return true;
  }

  Error unexpected(std::string_view expected) const {
    const std::string_view rest = text_.substr(position_);
    return header_error("found " +
                        (rest.empty() ? std::string("the end") : "'" + printable(rest, 20) + "'") +
                        ", expected " + std::string(expected));
  }

  std::string_view text_;
  NpyHeader& header_;
  size_t position_ = 0;
  Member members_[3] = {{"descr", &HeaderParser::parse_descr},
                        {"fortran_order", &HeaderParser::parse_fortran_order},
                        {"shape", &HeaderParser::parse_shape}};
};

}  // namespace

Result<NpyHeader> read_npy_header(std::span<const std::byte> bytes) {
  ByteCursor cursor(bytes);
  if (cursor.read_text(kMagic.size()) != kMagic) return header_error("found no magic number");
  const auto version = cursor.read<uint8_t>();
  cursor.read<uint8_t>();
  if (cursor.failed() || version < 1 || version > 3)
    return Error{ErrorCode::unsupported,
                 ".npy version " + std::to_string(version) + " is not supported", ""};
  const uint64_t length = version == 1 ? cursor.read<uint16_t>() : cursor.read<uint32_t>();
  const std::string_view text = cursor.read_text(length);
  if (cursor.failed()) return Error{ErrorCode::corrupt, "the file ends inside the .npy header", ""};
  NpyHeader header;
  header.data_offset = cursor.position();
  PT2_TRY_VOID(HeaderParser(text, header).parse());
  return header;
}

Result<std::string> print_npy_header(Dtype dtype, const Sizes& sizes) {
  const DtypeInfo& info = dtype_info(dtype);
  if (info.numpy_descriptor.empty())
    return Error{ErrorCode::unsupported,
                 "NumPy has no dtype " + std::string(info.name) +
                     (info.safetensors_name.empty() ? "" : "; write a .safetensors file instead"),
                 ""};
  std::string text =
      "{'descr': '" + std::string(info.numpy_descriptor) + "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < sizes.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(sizes[i]);
  text += sizes.size() == 1 ? ",), }" : "), }";

  // Version 1 stores the header's length in two bytes, version 2 in four.
  const bool is_long = text.size() + kAlignment > 0xffff;
  const size_t length_bytes = is_long ? 4 : 2;
  const size_t prefix = kMagic.size() + 2 + length_bytes;
  const size_t total = (prefix + text.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  text.resize(total - prefix - 1, ' ');
  text += '\n';
  std::string out(kMagic);
  out += {static_cast<char>(is_long ? 2 : 1), '\0'};
  for (size_t i = 0; i < length_bytes; ++i) out += static_cast<char>(text.size() >> (8 * i) & 0xff);
  return out + text;
}

}  // namespace pt2::tensor_files
