// Text of a file inside messages: control characters would let a file write to the reader's
// terminal.
#ifndef PT2_BASE_PRINTABLE_H
#define PT2_BASE_PRINTABLE_H

#include <string>
#include <string_view>
#include <utility>

namespace pt2 {

// Control characters as \xNN; longer than `max_bytes` is cut with "...". UTF-8 passes.
inline std::string printable(std::string_view text, size_t max_bytes = 200) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i == max_bytes) return out + "...";
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x20 && byte != 0x7f) {
      out += text[i];
    } else {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

// For what is repeated in many messages: a name, an expression or a path that is not absurdly long
// as it is.
inline std::string bounded(std::string text, size_t max_bytes = 4096) {
  return text.size() <= max_bytes ? std::move(text) : printable(text, max_bytes);
}

}  // namespace pt2

#endif  // PT2_BASE_PRINTABLE_H
