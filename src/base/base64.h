// Bytes as text (RFC 4648, with padding), as Python's base64.b64encode writes them.
#ifndef PT2_BASE_BASE64_H
#define PT2_BASE_BASE64_H

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pt2 {

std::string encode_base64(std::span<const std::byte> bytes);
// Nothing if the text is not base64.
std::optional<std::vector<std::byte>> decode_base64(std::string_view text);

}  // namespace pt2

#endif  // PT2_BASE_BASE64_H
