// Tokens of Python expressions: names, numbers, strings without escapes, operators.
#ifndef PT2_IR_SYMBOLS_EXPR_LEXER_H
#define PT2_IR_SYMBOLS_EXPR_LEXER_H

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "pt2/result.h"

namespace pt2 {

enum class TokenKind : uint8_t { end, name, number, string, punctuation };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;  // without the quotes for strings
  size_t position = 0;
};

inline bool is_name_start(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<Token> next() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n'))
      ++position_;
    const size_t start = position_;
    if (start == text_.size()) return Token{TokenKind::end, {}, start};
    const char c = text_[start];
    if (is_name_start(c)) {
      while (position_ < text_.size() &&
             (is_name_start(text_[position_]) || is_digit(text_[position_])))
        ++position_;
      return token(TokenKind::name, start);
    }
    if (is_digit(c)) return number(start);
    if (c == '\'' || c == '"') return string(start, c);
    for (std::string_view symbol : {"**", "//", "<=", ">=", "==", "!=", "<<", ">>"}) {
      if (text_.substr(start, 2) == symbol)
        return position_ += 2, token(TokenKind::punctuation, start);
    }
    if (std::string_view("+-*/%()[]<>&|^~,=.").find(c) != std::string_view::npos) {
      return ++position_, token(TokenKind::punctuation, start);
    }
    return Error{ErrorCode::malformed,
                 fmt::format("found '{}' at character {} of an expression", c, start),
                 {}};
  }

 private:
  Token token(TokenKind kind, size_t start) const {
    return {kind, text_.substr(start, position_ - start), start};
  }

  Token number(size_t start) {
    const auto skip_digits = [&] {
      while (position_ < text_.size() && is_digit(text_[position_])) ++position_;
    };
    skip_digits();
    if (position_ < text_.size() && text_[position_] == '.') ++position_, skip_digits();
    if (position_ < text_.size() && (text_[position_] == 'e' || text_[position_] == 'E')) {
      size_t digits = position_ + 1;
      if (digits < text_.size() && (text_[digits] == '+' || text_[digits] == '-')) ++digits;
      if (digits < text_.size() && is_digit(text_[digits])) position_ = digits, skip_digits();
    }
    return token(TokenKind::number, start);
  }

  Result<Token> string(size_t start, char quote) {
    const size_t end = text_.find(quote, start + 1);
    const std::string_view content =
        text_.substr(start + 1, end == std::string_view::npos ? end : end - start - 1);
    if (end == std::string_view::npos || content.find('\\') != std::string_view::npos) {
      return Error{ErrorCode::malformed,
                   fmt::format("bad string at character {} of an expression", start),
                   {}};
    }
    position_ = end + 1;
    return Token{TokenKind::string, content, start};
  }

  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace pt2

#endif  // PT2_IR_SYMBOLS_EXPR_LEXER_H
