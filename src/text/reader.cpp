#include "text/reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "base/text.h"
#include "text/expressions.h"
#include "text/vocabulary.h"

namespace pt2 {
namespace {

constexpr size_t kMaxErrors = 100;
constexpr size_t kMaxExcerpt = 40;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

size_t skip_while(std::string_view text, size_t at, auto predicate) {
  while (at < text.size() && predicate(text[at])) ++at;
  return at;
}

// Returns the end of a sign, digits, and all other characters that a float may have. The parser
// checks later whether the text is a number.
size_t number_end(std::string_view text, size_t at) {
  if (text[at] == '-') ++at;
  if (at < text.size() && is_word_start(text[at])) return skip_while(text, at, is_word_part);
  const auto is_part = [&](size_t i) {
    const char c = text[i];
    const bool is_sign = c == '+' || c == '-';
    return is_word_part(c) || (is_sign && (text[i - 1] == 'e' || text[i - 1] == 'E'));
  };
  while (at < text.size() && is_part(at)) ++at;
  return at;
}

std::string excerpt(std::string_view text) {
  if (text.size() <= kMaxExcerpt) return printable(text);
  return printable(text.substr(0, valid_utf8_prefix(text.substr(0, kMaxExcerpt)))) + "...";
}

}  // namespace

TextReader::TextReader(std::string_view text, std::string_view name, std::vector<Error>& errors)
    : text_(text), name_(name), errors_(errors), current_(scan(0)) {}

Token TextReader::scan(size_t offset) const {
  Token token;
  token.starts_line = offset == 0;
  // Editors of Windows begin a file with a byte order mark.
  if (offset == 0 && text_.starts_with("\xef\xbb\xbf")) offset = 3;
  while (offset < text_.size() && (is_blank(text_[offset]) || text_[offset] == ';')) {
    if (text_[offset] == ';') {
      offset = std::min(text_.find('\n', offset), text_.size());
      continue;
    }
    token.starts_line |= text_[offset] == '\n';
    ++offset;
  }
  token.offset = offset;
  if (offset == text_.size()) return token;
  const char c = text_[offset];
  const char next = offset + 1 < text_.size() ? text_[offset + 1] : '\0';
  const auto finish = [&](TokenKind kind, size_t begin, size_t end) {
    token.kind = kind;
    token.text = text_.substr(begin, end - begin);
    return token;
  };
  if (is_word_start(c))
    return finish(TokenKind::word, offset, skip_while(text_, offset, is_word_part));
  if (c == '"' || c == '\'') return scan_string(finish(TokenKind::string, offset, offset), offset);
  if (c == '%' && next == '"')
    return scan_string(finish(TokenKind::value, offset, offset), offset + 1);
  if (c == '%' && is_word_part(next))
    return finish(TokenKind::value, offset + 1, skip_while(text_, offset + 1, is_word_part));
  if (c == '#' && is_digit(next))
    return finish(TokenKind::reference, offset + 1, skip_while(text_, offset + 1, is_digit));
  if (c == '-' && next == '>') return finish(TokenKind::punctuation, offset, offset + 2);
  if (is_digit(c) || (c == '-' && is_word_part(next)))
    return finish(TokenKind::number, offset, number_end(text_, offset));
  const bool is_known = std::string_view("{}()[],=:*?").find(c) != std::string_view::npos;
  return finish(is_known ? TokenKind::punctuation : TokenKind::wrong, offset, offset + 1);
}

Token TextReader::scan_string(Token token, size_t quote) const {
  const char mark = text_[quote];
  size_t end = quote + 1;
  while (end < text_.size() && text_[end] != mark && text_[end] != '\n')
    end += text_[end] == '\\' && mark == '"' ? 2 : 1;
  if (end >= text_.size() || text_[end] != mark) {
    // The rest of the line is one token. Searching it again from each of its quotes would take
    // quadratic time.
    token.kind = TokenKind::wrong;
    token.text = text_.substr(token.offset, end - token.offset);
    return token;
  }
  token.is_quoted = true;
  token.text = text_.substr(quote + 1, end - quote - 1);
  return token;
}

size_t TextReader::end_of(const Token& token) const {
  if (token.kind == TokenKind::end) return text_.size();
  const auto end = static_cast<size_t>(token.text.data() - text_.data()) + token.text.size();
  return end + (token.is_quoted ? 1 : 0);
}

Token TextReader::peek() const { return scan(end_of(current_)); }

void TextReader::advance() {
  if (at("{")) ++depth_;
  if (at("}") && depth_ > 0) --depth_;
  current_ = peek();
}

bool TextReader::accept(std::string_view punctuation) {
  if (!at(punctuation)) return false;
  advance();
  return true;
}

bool TextReader::accept_word(std::string_view word) {
  if (!at_word(word)) return false;
  advance();
  return true;
}

Result<void> TextReader::expect(std::string_view punctuation) {
  if (!accept(punctuation)) return unexpected(fmt::format("'{}'", punctuation));
  return {};
}

Result<std::string> TextReader::string() {
  if (current_.kind != TokenKind::string) return unexpected("a string in quotes");
  if (text_[current_.offset] == '\'') {
    std::string raw(current_.text);
    advance();
    return raw;
  }
  auto unescaped = unescape_json(current_.text);
  if (!unescaped)
    return error_at(current_.offset, ErrorCode::malformed,
                    "found an escape that JSON does not have, expected one of \\\" \\\\ \\/ \\b "
                    "\\f \\n \\r \\t \\uXXXX");
  advance();
  return std::move(unescaped->text);
}

Result<std::string> TextReader::word_or_string(std::string_view what) {
  if (current_.kind == TokenKind::string) return string();
  if (current_.kind != TokenKind::word) return unexpected(what);
  std::string word(current_.text);
  advance();
  return word;
}

Result<std::string> TextReader::value_name() {
  if (current_.kind != TokenKind::value) return unexpected("a value such as %x");
  std::string name(current_.text);
  if (current_.is_quoted) {
    auto unescaped = unescape_json(current_.text);
    if (!unescaped) return unexpected("a name with JSON's escapes");
    name = std::move(unescaped->text);
  }
  advance();
  return name;
}

Result<int64_t> TextReader::integer() {
  const auto value = current_.kind == TokenKind::number ? parse_int(current_.text) : std::nullopt;
  if (!value) return unexpected("an integer of 64 bits");
  advance();
  return *value;
}

Result<bool> TextReader::boolean() {
  if (accept_word("true")) return true;
  if (accept_word("false")) return false;
  return unexpected("true or false");
}

std::string_view TextReader::expression() {
  std::string_view text = text_.substr(current_.offset);
  text = text.substr(0, expression_length(text));
  current_ = scan(current_.offset + text.size());
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

Error TextReader::unexpected(std::string_view expected) const {
  std::string found = "the end";
  if (!at_end()) {
    const size_t end = end_of(current_);
    found = excerpt(text_.substr(current_.offset, end - current_.offset));
    if (current_.kind != TokenKind::string) found = "'" + found + "'";
    if (current_.kind == TokenKind::wrong && found.find_first_of("\"'", 1) == 1)
      found = "a string without its end";
  }
  return error_at(current_.offset, ErrorCode::malformed,
                  fmt::format("found {}, expected {}", found, expected));
}

Error TextReader::error_at(size_t offset, ErrorCode code, std::string message) const {
  // Continues from the last place: a file may have very many errors, even in one line.
  if (offset < counted_to_) counted_to_ = counted_lines_ = counted_columns_ = 0;
  std::string_view uncounted = text_.substr(counted_to_, offset - counted_to_);
  counted_to_ = offset;
  counted_lines_ += static_cast<size_t>(std::ranges::count(uncounted, '\n'));
  if (const size_t last = uncounted.rfind('\n'); last != uncounted.npos) {
    counted_columns_ = 0;
    uncounted.remove_prefix(last + 1);
  }
  // Counts characters, not bytes: skips UTF-8 continuation bytes.
  counted_columns_ += static_cast<size_t>(
      std::ranges::count_if(uncounted, [](char c) { return (c & 0xC0) != 0x80; }));
  return {code, std::move(message),
          fmt::format("{}:{}:{}", name_, 1 + counted_lines_, 1 + counted_columns_)};
}

Error TextReader::placed(Error error, size_t offset) const {
  return error_at(offset, error.code, std::move(error.message));
}

void TextReader::report(Error error) {
  if (count_++ == 0) first_ = error;
  if (count_ <= kMaxErrors) errors_.push_back(std::move(error));
}

bool TextReader::is_hopeless() const { return count_ >= kMaxErrors; }

void TextReader::recover(size_t start, size_t depth) {
  if (current_.offset == start && !at_end()) advance();
  while (!at_end()) {
    if (depth_ <= depth && (current_.starts_line || at("}"))) return;
    advance();
  }
}

}  // namespace pt2
