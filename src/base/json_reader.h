// simdjson's on-demand documents with this library's errors, shared by parse_json and the schema
// decoder. Only the two files that walk JSON include this.
#ifndef PT2_BASE_JSON_READER_H
#define PT2_BASE_JSON_READER_H

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/result.h"

namespace pt2 {

namespace ondemand = simdjson::ondemand;

// An open JSON text. It cannot be moved, because the document points into it.
class JsonText {
 public:
  JsonText() = default;
  JsonText(const JsonText&) = delete;
  JsonText& operator=(const JsonText&) = delete;

  // Copies the text, between `brackets` if there are two, with the padding that simdjson reads
  // beyond its end. Finds invalid UTF-8 and open strings. `before`: the number of bytes of the file
  // before the text, for places in errors.
  Result<void> open(std::string_view text, std::string_view brackets = "", size_t before = 0);
  // Returns simdjson's error code as an Error of this library, with the byte at which reading ended
  // if that is informative.
  Error error(simdjson::error_code code);
  // Call it after the root has been read to its end. Fails if more text follows.
  Result<void> check_end();

  std::string_view text() const { return text_; }
  // Returns the byte of the file for a place in text().
  size_t byte_of(const char* where) const {
    return static_cast<size_t>(where - text_.data()) - opening_ + before_;
  }
  ondemand::document& document() { return document_; }

 private:
  std::string place(std::optional<size_t> offset) const;
  Error bracket_error() const;

  simdjson::padded_string text_;
  size_t opening_ = 0;  // bytes of the bracket before the text
  size_t before_ = 0;
  ondemand::parser parser_;
  ondemand::document document_;
};

Error malformed(std::string message);
// "expected an int, found "abc"".
Error mismatch(std::string_view expected, std::string_view found_token);

// Returns the characters of a scalar, `"abc"`, `12` or `true`, without trailing blanks.
inline std::string_view scalar_token(ondemand::value& value) {
  std::string_view token = value.raw_json_token();
  while (!token.empty() && static_cast<unsigned char>(token.back()) <= ' ') token.remove_suffix(1);
  return token;
}

// Every string must be taken with this function, not skipped: simdjson skips `"a": 1` as one value
// where only `"a"` is allowed. Returns the text between the quotes.
inline std::string_view take_string(ondemand::value& value) {
  std::string_view token = scalar_token(value);
  (void)value.get_raw_json_string().error();
  return token.substr(1, token.size() - 2);
}

// Returns the text between the quotes of a key. simdjson's stage 1 guarantees that the closing
// quote exists.
inline std::string_view key_between_quotes(simdjson::ondemand::raw_json_string key) {
  const char* begin = key.raw();
  const char* end = begin;
  while (*end != '"') end += *end == '\\' ? 2 : 1;
  return {begin, static_cast<size_t>(end - begin)};
}

// Returns a key that occurs twice, if any. Does not reorder `keys`.
std::optional<std::string_view> find_duplicate(const std::vector<std::string_view>& keys);

// Returns a shortened copy for messages, without binary bytes and megabytes of text.
std::string excerpt(std::string_view token);

}  // namespace pt2

#endif  // PT2_BASE_JSON_READER_H
