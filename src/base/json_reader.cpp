#include "base/json_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash/text_hash.h"
#include "base/json_keys.h"
#include "base/text.h"

namespace pt2 {
namespace {

constexpr size_t kExcerptBytes = 40;
// From this number of keys on, a set is faster than comparing each key with all others.
constexpr size_t kManyKeys = 16;
// A text of only brackets must not take more memory than it has bytes.
constexpr size_t kMostBrackets = 4096;

// Names an encoding that Windows programs give to JSON. JSON has no byte order mark and is UTF-8
// (RFC 8259, 8.1).
std::string_view foreign_encoding(std::string_view text) {
  using namespace std::string_view_literals;
  if (text.starts_with("\xef\xbb\xbf"sv)) return "the JSON text begins with a byte order mark";
  for (const std::string_view mark :
       {"\xff\xfe"sv, "\xfe\xff"sv, "{\0"sv, "[\0"sv, "\0{"sv, "\0["sv})
    if (text.starts_with(mark)) return "the JSON text is UTF-16";
  return "";
}

// A wrong string: where it begins, and where it has a control character or the text ends.
struct WrongString {
  size_t begin = 0;
  size_t at = 0;
};
std::optional<WrongString> find_wrong_string(std::string_view text) {
  std::optional<size_t> begin;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      begin = begin ? std::nullopt : std::optional(i);
    } else if (begin && text[i] == '\\') {
      ++i;
    } else if (begin && static_cast<unsigned char>(text[i]) < ' ') {
      return WrongString{*begin, i};
    }
  }
  return begin ? std::optional(WrongString{*begin, text.size()}) : std::nullopt;
}

// A wrong bracket: the text closes another bracket than the innermost open one, goes on after the
// outermost was closed, or ends while one is open.
struct WrongBracket {
  std::optional<size_t> begin;  // the open bracket
  size_t at = 0;
};
std::optional<WrongBracket> find_wrong_bracket(std::string_view text) {
  std::vector<size_t> open;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (static_cast<unsigned char>(c) <= ' ') continue;
    if (c == '{' || c == '[') {
      if (open.size() == kMostBrackets) return {};
      open.push_back(i);
    } else if (open.empty()) {
      return WrongBracket{{}, i};
    } else if (c == '"') {
      i = json_string_end(text, i);
    } else if (c == '}' || c == ']') {
      if ((text[open.back()] == '{') != (c == '}')) return WrongBracket{open.back(), i};
      open.pop_back();
    }
  }
  if (open.empty()) return {};
  return WrongBracket{open.back(), text.size()};
}

}  // namespace

Result<void> JsonText::open(std::string_view text, std::string_view brackets, size_t before) {
  before_ = before;
  if (const std::string_view found = foreign_encoding(text); !found.empty())
    return malformed(fmt::format("{}, expected UTF-8 without a mark", found));
  // simdjson counts in 32 bits.
  if (text.size() >= simdjson::SIMDJSON_MAXSIZE_BYTES) {
    return Error{ErrorCode::limit,
                 fmt::format("the JSON text has {} bytes, more than can be indexed", text.size()),
                 ""};
  }
  text_ = simdjson::padded_string(text.size() + brackets.size());
  const std::string_view opening = brackets.substr(0, brackets.size() / 2);
  opening_ = opening.size();
  char* const end = std::ranges::copy(text, std::ranges::copy(opening, text_.data()).out).out;
  std::ranges::copy(brackets.substr(opening.size()), end);
  const auto code = parser_.iterate(text_).get(document_);
  if (code == simdjson::UTF8_ERROR) {
    return malformed(
        fmt::format("the JSON text is not valid UTF-8 at byte {}", valid_utf8_prefix(text_)));
  }
  if (code) return error(code);
  return {};
}

Result<void> JsonText::check_end() {
  const char* where = nullptr;
  if (document_.current_location().get(where) != simdjson::SUCCESS) return {};
  const size_t offset = static_cast<size_t>(where - text_.data());
  return malformed(fmt::format("found {} after the end of the JSON text,{}",
                               excerpt(std::string_view(text_).substr(offset)), place(offset)));
}

Error malformed(std::string message) { return {ErrorCode::malformed, std::move(message), ""}; }

std::string JsonText::place(std::optional<size_t> offset) const {
  return offset && *offset >= opening_ ? fmt::format(" at byte {}", *offset - opening_ + before_)
                                       : "";
}

Error JsonText::error(simdjson::error_code code) {
  const auto string = [&]() -> std::optional<WrongString> { return find_wrong_string(text_); };
  switch (code) {
    case simdjson::UNCLOSED_STRING: {
      const auto wrong = string();
      return malformed(
          fmt::format("the JSON text ends inside a string{}",
                      wrong ? fmt::format(", which begins{}", place(wrong->begin)) : ""));
    }
    case simdjson::UNESCAPED_CHARS: {
      const auto wrong = string();
      return malformed(fmt::format("a JSON string has a control character that is not escaped{}",
                                   wrong ? "," + place(wrong->at) : ""));
    }
    case simdjson::EMPTY:
      return malformed("the JSON text is empty");
    case simdjson::INCOMPLETE_ARRAY_OR_OBJECT:
      return bracket_error();
    default: {
      const char* where = nullptr;
      std::string at;
      if (document_.current_location().get(where) == simdjson::SUCCESS) {
        const auto offset = static_cast<size_t>(where - text_.data());
        const auto wrong = find_wrong_bracket(text_);
        if (wrong && wrong->begin && wrong->at == offset) return bracket_error();
        at = place(offset);
      }
      return malformed(
          fmt::format("a comma, a colon or a bracket of the JSON text is missing or misplaced{}{}",
                      at.empty() ? "" : ",", at));
    }
  }
}

Error JsonText::bracket_error() const {
  const std::string_view text = std::string_view(text_).substr(0, text_.size() - opening_);
  const auto wrong = find_wrong_bracket(text);
  if (!wrong) return malformed("the JSON text does not end where its object or list ends");
  if (!wrong->begin)
    return malformed(fmt::format("found {} after the end of the JSON text,{}",
                                 excerpt(text.substr(wrong->at)), place(wrong->at)));
  const bool is_object = text[*wrong->begin] == '{';
  const std::string begin =
      *wrong->begin < opening_ ? std::string() : fmt::format(" that begins{}", place(wrong->begin));
  const std::string_view kind = is_object ? "an object" : "a list";
  if (wrong->at == text.size())
    return malformed(fmt::format("the JSON text ends inside {}{}", kind, begin));
  return malformed(fmt::format("found {}{}, expected {} for {}{}", text[wrong->at],
                               place(wrong->at), is_object ? '}' : ']', kind, begin));
}

Error mismatch(std::string_view expected, std::string_view found_token) {
  return malformed(fmt::format("found {}, expected {}", excerpt(found_token), expected));
}

std::optional<std::string_view> find_duplicate(const std::vector<std::string_view>& keys) {
  if (keys.size() >= kManyKeys) {
    TextSet<std::string_view> seen(keys.size());
    for (const std::string_view key : keys) {
      if (!seen.insert(key).second) return key;
    }
    return {};
  }
  for (size_t i = 1; i < keys.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (keys[i] == keys[k]) return keys[i];
    }
  }
  return {};
}

std::string excerpt(std::string_view token) {
  if (token.empty()) return "nothing";
  if (token[0] == '{') return "an object";
  if (token[0] == '[') return "a list";
  std::string out;
  for (const char c : token.substr(0, kExcerptBytes)) {
    const bool printable = c >= ' ' && c < 0x7F;
    out += printable ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<uint8_t>(c));
  }
  if (token.size() > kExcerptBytes) out += fmt::format("... ({} bytes)", token.size());
  return out;
}

}  // namespace pt2
