#include "base/text.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/platform.h"
#include "base/printable.h"

namespace pt2 {
namespace {

// Any number with this many decimal digits fits into 64 bits.
constexpr size_t kSafeDigits = 18;

constexpr char kHexDigits[] = "0123456789abcdef";

void append_unit(std::string& out, uint32_t unit) {
  const char escape[] = {'\\',
                         'u',
                         kHexDigits[unit >> 12 & 15],
                         kHexDigits[unit >> 8 & 15],
                         kHexDigits[unit >> 4 & 15],
                         kHexDigits[unit & 15]};
  out.append(escape, sizeof escape);
}

void append_code_point_escape(std::string& out, uint32_t code_point) {
  if (code_point < 0x10000) return append_unit(out, code_point);
  append_unit(out, 0xD800 + ((code_point - 0x10000) >> 10));
  append_unit(out, 0xDC00 + ((code_point - 0x10000) & 0x3FF));
}

void append_utf8(std::string& out, uint32_t code_point) {
  auto byte = [&](uint32_t value) { out += static_cast<char>(value); };
  if (code_point < 0x80) return byte(code_point);
  if (code_point < 0x800) {
    byte(0xC0 | code_point >> 6);
  } else {
    if (code_point < 0x10000) {
      byte(0xE0 | code_point >> 12);
    } else {
      byte(0xF0 | code_point >> 18);
      byte(0x80 | (code_point >> 12 & 0x3F));
    }
    byte(0x80 | (code_point >> 6 & 0x3F));
  }
  byte(0x80 | (code_point & 0x3F));
}

struct CodePoint {
  uint32_t value;
  size_t size;
};

// The code point at the start of `text`, surrogates included. A byte that begins no code point
// stands for itself, so that any bytes can be printed as a JSON string.
CodePoint next_code_point(std::string_view text) {
  constexpr uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};  // a smaller value is overlong
  auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint32_t lead = byte(0);
  const size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 1;
  if (size == 1 || lead > 0xF4 || text.size() < size) return {lead, 1};
  uint32_t value = lead & (0x7F >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {lead, 1};
    value = value << 6 | (byte(i) & 0x3F);
  }
  if (value < smallest[size] || value > 0x10FFFF) return {lead, 1};
  return {value, size};
}

bool is_printable(CodePoint at) {
  if (at.value >= 0x20 && at.value < 0x7F) return true;  // fast path: nearly all of most files
  struct Span {
    uint32_t first, last;
  };
  constexpr Span kHidden[] = {
      {0x00, 0x1F},     {0x7F, 0x9F},      // control characters
      {0x061C, 0x061C}, {0x200E, 0x200F},  // marks of direction
      {0x2028, 0x202E}, {0x2066, 0x2069},  // line breaks and marks of direction
      {0xD800, 0xDFFF},                    // surrogates
  };
  if (at.size == 1 && at.value >= 0x80) return false;  // a byte that is no character
  return std::ranges::none_of(
      kHidden, [&](const Span& span) { return at.value >= span.first && at.value <= span.last; });
}

// True for names of Windows devices, which it finds in any folder, with any ending and in any case.
bool is_windows_device(std::string_view name) {
  constexpr std::string_view kDevices[] = {"con", "prn", "aux", "nul", "conin$", "conout$"};
  std::string stem(name.substr(0, name.find('.')));
  stem.resize(stem.find_last_not_of(' ') + 1);
  for (char& c : stem) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  if (std::ranges::find(kDevices, stem) != std::end(kDevices)) return true;
  const std::string_view number = std::string_view(stem).substr(std::min<size_t>(stem.size(), 3));
  return (stem.starts_with("com") || stem.starts_with("lpt")) &&
         ((number.size() == 1 && is_digit(number[0])) || number == "\u00b9" || number == "\u00b2" ||
          number == "\u00b3");
}

char short_escape(char c) {
  switch (c) {
    case '"':
      return '"';
    case '\\':
      return '\\';
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    case '\b':
      return 'b';
    case '\f':
      return 'f';
    default:
      return 0;
  }
}

constexpr auto kPlain = [] {
  std::array<bool, 256> plain{};
  for (size_t c = 0x20; c < 0x7F; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();
bool is_plain(char c) { return kPlain[static_cast<unsigned char>(c)]; }

bool is_surrogate(uint32_t code_point) { return code_point >= 0xD800 && code_point < 0xE000; }

void append_special(std::string& out, std::string_view text, CodePoint at, bool ascii) {
  const char c = text[0];
  if (const char escape = short_escape(c)) {
    out += '\\';
    out += escape;
  } else if (!ascii && (c == 0x7F || (at.size > 1 && !is_surrogate(at.value)))) {
    out.append(text.substr(0, at.size));
  } else {
    append_code_point_escape(out, at.value);
  }
}

std::optional<uint32_t> parse_unit(std::string_view digits) {
  uint32_t unit = 0;
  if (digits.size() < 4) return {};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + 4, unit, 16);
  if (error != std::errc() || end != digits.data() + 4) return {};
  return unit;
}

char unescaped(char c) {
  switch (c) {
    case '"':
    case '\\':
    case '/':
      return c;
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    default:
      return 0;
  }
}

bool is_usual_escape(uint32_t code_point, std::string_view escape) {
  const bool upper =
      std::any_of(escape.begin(), escape.end(), [](char c) { return c >= 'A' && c <= 'F'; });
  const char c = static_cast<char>(code_point);
  return !upper && (code_point > 0x7E || (!is_plain(c) && short_escape(c) == 0));
}

// Reads the \uXXXX at `at` (and its low half); returns the position after it, or nothing.
std::optional<size_t> unescape_unit(std::string_view text, size_t at, Unescaped& out) {
  const size_t start = at;
  const auto unit = parse_unit(text.substr(at + 2));
  if (!unit) return {};
  uint32_t code_point = *unit;
  at += 6;
  if (code_point >= 0xD800 && code_point < 0xDC00 && text.substr(at, 2) == "\\u") {
    const auto low = parse_unit(text.substr(at + 2));
    if (low && *low >= 0xDC00 && *low < 0xE000) {
      code_point = 0x10000 + ((code_point - 0xD800) << 10) + (*low - 0xDC00);
      at += 6;
    }
  }
  out.has_lone_surrogate |= is_surrogate(code_point);
  out.is_usual &= is_usual_escape(code_point, text.substr(start, at - start));
  append_utf8(out.text, code_point);
  return at;
}

}  // namespace

void append_float(std::string& out, double value, NonFinite non_finite) {
  const bool json = non_finite == NonFinite::json;
  if (std::isnan(value)) {
    out += json ? "NaN" : "nan";
    return;
  }
  if (std::isinf(value)) {
    out += value < 0 ? "-" : "";
    out += json ? "Infinity" : "inf";
    return;
  }
  const double magnitude = std::fabs(value);
  const bool fixed = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  char buffer[40];
  const char* end = std::to_chars(buffer, buffer + sizeof buffer, value,
                                  fixed ? std::chars_format::fixed : std::chars_format::scientific)
                        .ptr;
  const std::string_view digits(buffer, static_cast<size_t>(end - buffer));
  out += digits;
  if (fixed && digits.find('.') == std::string_view::npos) out += ".0";
}

std::string print_float(double value, NonFinite non_finite) {
  std::string text;
  append_float(text, value, non_finite);
  return text;
}

void append_int(std::string& out, int64_t value) {
  char buffer[24];
  const char* end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  out.append(buffer, static_cast<size_t>(end - buffer));
}

bool is_json_number(std::string_view text) {
  size_t i = 0;
  auto at = [&](char c) { return i < text.size() && text[i] == c; };
  auto digits = [&] {
    const size_t start = i;
    while (i < text.size() && is_digit(text[i])) ++i;
    return i > start;
  };
  if (at('-')) ++i;
  if (at('0')) {
    ++i;
  } else if (!digits()) {
    return false;
  }
  if (at('.')) {
    ++i;
    if (!digits()) return false;
  }
  if (at('e') || at('E')) {
    ++i;
    if (at('+') || at('-')) ++i;
    if (!digits()) return false;
  }
  return i == text.size();
}

std::optional<double> parse_float(std::string_view text) {
  return is_json_number(text) ? decimal_value(text) : std::nullopt;
}

std::optional<int64_t> parse_int(std::string_view text) {
  const size_t first = !text.empty() && text[0] == '-' ? 1 : 0;
  const size_t digits = text.size() - first;
  if (digits == 0 || (text[first] == '0' && digits > 1)) return {};
  int64_t value = 0;
  if (digits > kSafeDigits) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    return value;
  }
  for (size_t i = first; i < text.size(); ++i) {
    if (!is_digit(text[i])) return {};
    value = 10 * value + (text[i] - '0');
  }
  return first ? -value : value;
}

std::optional<double> parse_non_finite(std::string_view text) {
  const bool negative = !text.empty() && text[0] == '-';
  const std::string_view word = text.substr(negative ? 1 : 0);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (word == "Infinity" || word == "inf") return negative ? -infinity : infinity;
  if (word == "NaN" || word == "nan") return std::numeric_limits<double>::quiet_NaN();
  return {};
}

void append_json_string(std::string& out, std::string_view text, bool ascii) {
  out += '"';
  size_t plain_start = 0;
  for (size_t i = 0; i < text.size();) {
    if (is_plain(text[i])) {
      ++i;
      continue;
    }
    out.append(text.substr(plain_start, i - plain_start));
    const CodePoint at = next_code_point(text.substr(i));
    append_special(out, text.substr(i), at, ascii);
    i += at.size;
    plain_start = i;
  }
  out.append(text.substr(plain_start));
  out += '"';
}

std::string print_json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string type_text(Dtype dtype, std::span<const int64_t> sizes) {
  std::string out(dtype_info(dtype).short_name);
  out += '[';
  for (size_t i = 0; i < sizes.size(); ++i) out += (i ? ", " : "") + std::to_string(sizes[i]);
  return out + ']';
}

std::string print_python_string(std::string_view name) {
  const char quote = name.find('\'') == name.npos ? '\'' : '"';
  return quote + std::string(name) + quote;
}

std::optional<Unescaped> unescape_json(std::string_view text) {
  Unescaped out;
  out.text.reserve(text.size());
  size_t at = 0;
  while (at < text.size()) {
    const size_t escape = std::min(text.find('\\', at), text.size());
    out.text.append(text.substr(at, escape - at));
    at = escape;
    if (at == text.size()) break;
    if (at + 1 == text.size()) return {};
    if (text[at + 1] == 'u') {
      const auto next = unescape_unit(text, at, out);
      if (!next) return {};
      at = *next;
      continue;
    }
    const char c = unescaped(text[at + 1]);
    if (c == 0) return {};
    out.text += c;
    out.is_usual &= c != '/';
    at += 2;
  }
  return out;
}

bool is_utf8(std::string_view text) { return simdjson::validate_utf8(text); }

size_t valid_utf8_prefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const CodePoint next = next_code_point(text.substr(at));
    const bool whole = next.size > 1 || static_cast<uint8_t>(text[at]) < 0x80;
    if (!whole || is_surrogate(next.value)) break;
    at += next.size;
  }
  return at;
}

std::string printable(std::string_view text, size_t max_bytes) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const CodePoint next = next_code_point(text.substr(at));
    if (at + next.size > max_bytes) return out + "...";
    if (is_printable(next)) {
      out += text.substr(at, next.size);
    } else {
      for (const char c : text.substr(at, next.size)) {
        const auto byte = static_cast<uint8_t>(c);
        out += {'\\', 'x', kHexDigits[byte >> 4], kHexDigits[byte & 15]};
      }
    }
    at += next.size;
  }
  return out;
}

std::string printable_message(std::string_view text) {
  constexpr std::string_view kNextLine = "\n  ";
  std::string out;
  for (size_t begin = 0;;) {
    const size_t end = std::min(text.find(kNextLine, begin), text.size());
    out += printable_line(text.substr(begin, end - begin));
    if (end == text.size()) return out;
    out += kNextLine;
    begin = end + kNextLine.size();
  }
}

bool is_word(std::string_view text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto is_part = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  return !text.empty() && is_letter(text[0]) && std::ranges::all_of(text, is_part);
}

bool is_identifier(std::string_view text) {
  // clang-format off
  constexpr std::string_view kKeywords[] = {
      "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
      "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
      "not", "or", "pass", "raise", "return", "try", "while", "with", "yield"};
  // clang-format on
  return is_word(text) && std::ranges::find(kKeywords, text) == std::end(kKeywords);
}

bool is_file_name(std::string_view name) {
  constexpr size_t kMostBytes = 240;  // systems allow 255 bytes; an ending needs some
  // Windows drops dots and blanks at the end.
  if (name.empty() || name.size() > kMostBytes || name.ends_with('.') || name.ends_with(' '))
    return false;
  return name.find_first_of("/\\:") == name.npos && printable_line(name) == name &&
         !is_windows_device(name);
}

std::string escape_markup(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const auto byte = static_cast<uint8_t>(text[at]);
    if (byte >= 0x80) {
      const CodePoint next = next_code_point(text.substr(at));
      const bool is_whole = next.size > 1 && !is_surrogate(next.value);
      out += is_whole ? text.substr(at, next.size) : std::string_view("?");
      at += next.size;
      continue;
    }
    ++at;
    switch (byte) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += byte >= 0x20 || byte == '\n' || byte == '\t' ? static_cast<char>(byte) : '?';
    }
  }
  return out;
}

}  // namespace pt2
