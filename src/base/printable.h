// Text of a file inside messages: control characters would let a file write to the reader's
// terminal, and marks of direction would show its letters in another order.
#ifndef PT2_BASE_PRINTABLE_H
#define PT2_BASE_PRINTABLE_H

#include <string>
#include <string_view>
#include <utility>

namespace pt2 {

// Control characters, marks of direction and bytes that are no UTF-8 as \xNN; longer than
// `max_bytes` is cut with "...". Other characters pass, backslashes too, so that what is printable
// stays as it is.
std::string printable(std::string_view text, size_t max_bytes = 200);

// The same, however long.
inline std::string printable_line(std::string_view text) { return printable(text, text.size()); }

// A whole message. Lists in messages have lines of their own, which begin with two blanks; those
// stay, and no other line break does.
std::string printable_message(std::string_view text);

// For what is repeated in many messages: a name, an expression or a path that is not absurdly long
// as it is.
inline std::string bounded(std::string text, size_t max_bytes = 4096) {
  return text.size() <= max_bytes ? std::move(text) : printable(text, max_bytes);
}

}  // namespace pt2

#endif  // PT2_BASE_PRINTABLE_H
