// The tokens of a text, and errors with their places.
#ifndef PT2_TEXT_READER_H
#define PT2_TEXT_READER_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/result.h"

namespace pt2 {

enum class TokenKind : uint8_t {
  end,
  word,         // aten.add.Tensor
  value,        // %x or %"any name"
  number,       // -1.5
  string,       // "with JSON's escapes", or 'without escapes'
  reference,    // #12
  punctuation,  // one character, or ->
  wrong,        // a character that starts no token, or an unterminated string
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text{};  // without the % or # of values and references, without quotes
  size_t offset = 0;
  bool is_quoted = false;  // true for strings and quoted names of values
  bool starts_line = false;
};

// Reads forward, one token ahead. Functions that do not find the expected token return an Error
// with its place. The caller passes it to report() and continues.
class TextReader {
 public:
  TextReader(std::string_view text, std::string_view name, std::vector<Error>& errors);

  uint64_t size() const { return text_.size(); }  // of the text in bytes
  const Token& current() const { return current_; }
  // Returns the token after the current one.
  Token peek() const;
  bool next_is(std::string_view punctuation) const {
    const Token next = peek();
    return next.kind == TokenKind::punctuation && next.text == punctuation;
  }
  void advance();
  bool at(std::string_view punctuation) const {
    return current_.kind == TokenKind::punctuation && current_.text == punctuation;
  }
  bool at_word(std::string_view word) const {
    return current_.kind == TokenKind::word && current_.text == word;
  }
  bool at_end() const { return current_.kind == TokenKind::end; }
  bool accept(std::string_view punctuation);
  bool accept_word(std::string_view word);

  Result<void> expect(std::string_view punctuation);
  Result<std::string> string();
  Result<std::string> word_or_string(std::string_view what);
  Result<std::string> value_name();
  Result<int64_t> integer();
  Result<bool> boolean();
  // Returns the text of an unquoted expression at this place; may be empty.
  std::string_view expression();

  Error unexpected(std::string_view expected) const;
  Error error_at(size_t offset, ErrorCode code, std::string message) const;
  // Sets the error's place to `offset`.
  Error placed(Error error, size_t offset) const;
  void report(Error error);
  size_t error_count() const { return count_; }
  // True if there are so many errors that more would not help.
  bool is_hopeless() const;
  const Error& first_error() const { return first_; }

  // The number of open '{', from which recover() continues after an error.
  size_t depth() const { return depth_; }
  // Skips the rest of a statement that began at `start` with `depth` open '{': to the first token
  // of the next line, or to the '}' that ends the block.
  void recover(size_t start, size_t depth);

 private:
  Token scan(size_t offset) const;
  Token scan_string(Token token, size_t quote) const;
  size_t end_of(const Token& token) const;

  std::string_view text_;
  std::string_view name_;
  std::vector<Error>& errors_;
  Error first_;
  size_t count_ = 0;
  Token current_;
  size_t depth_ = 0;
  // Cache of the place count, so that many errors do not count the same text again.
  mutable size_t counted_to_ = 0, counted_lines_ = 0, counted_columns_ = 0;
};

}  // namespace pt2

#endif  // PT2_TEXT_READER_H
