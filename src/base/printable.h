// Makes text from a file safe for messages: control characters would let a file write to the
// reader's terminal, and direction marks would show its letters in another order.
#ifndef PT2_BASE_PRINTABLE_H
#define PT2_BASE_PRINTABLE_H

#include <string>
#include <string_view>
#include <utility>

namespace pt2 {

// Returns the text with control characters, direction marks and invalid UTF-8 as \xNN, cut with
// "..." after `max_bytes`. Other characters, backslashes too, are unchanged, so printable text
// stays as it is.
std::string printable(std::string_view text, size_t max_bytes = 200);

// The same without a limit of length.
inline std::string printable_line(std::string_view text) { return printable(text, text.size()); }

// The same for a whole message. Lists in messages have lines of their own, which begin with two
// blanks; only these line breaks stay.
std::string printable_message(std::string_view text);

// For text that many messages repeat: a name, an expression or a path. Unchanged if at most
// `max_bytes` long.
inline std::string bounded(std::string text, size_t max_bytes = 4096) {
  return text.size() <= max_bytes ? std::move(text) : printable(text, max_bytes);
}

}  // namespace pt2

#endif  // PT2_BASE_PRINTABLE_H
