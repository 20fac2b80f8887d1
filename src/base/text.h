// Numbers and strings as text, in Python's spelling: Python wrote the files, and they must be
// reproduced byte for byte. Nothing here depends on the locale.
#ifndef PT2_BASE_TEXT_H
#define PT2_BASE_TEXT_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pt2/dtype.h"

namespace pt2 {

// The spelling of infinities and NaN: repr(float) writes inf, json.dumps writes Infinity.
enum class NonFinite : uint8_t { python, json };

// Python's repr(float): the shortest digits that read back as the same number, fixed notation where
// 1e-4 <= |x| < 1e16, always with a dot or an exponent of at least two digits: "1.0", "1e+16",
// "1e-05", "-0.0".
void append_float(std::string& out, double value, NonFinite non_finite = NonFinite::python);
std::string print_float(double value, NonFinite non_finite = NonFinite::python);
void append_int(std::string& out, int64_t value);

// Accepts only a JSON number: no sign but '-', no leading zero, no blanks, no "inf". Nothing for
// other texts, and for a number that does not fit (a float that overflows, or a non-zero float that
// underflows to zero).
std::optional<double> parse_float(std::string_view text);
std::optional<int64_t> parse_int(std::string_view text);
bool is_json_number(std::string_view text);
// "inf", "Infinity", "nan", "NaN" with an optional '-'.
std::optional<double> parse_non_finite(std::string_view text);

// Appends `text` as a JSON string with its quotes, as json.dumps does; with `ascii`, everything
// beyond ASCII becomes \uXXXX. Bytes ED A0..BF xx, which unescape_json makes of lone surrogates,
// become escapes again with and without `ascii`.
void append_json_string(std::string& out, std::string_view text, bool ascii = true);
std::string print_json_string(std::string_view text);

// "f32[2, 3]".
std::string type_text(Dtype dtype, std::span<const int64_t> sizes);

// Returns Python's repr of a name, which must hold no backslash and not both kinds of quotes.
std::string print_python_string(std::string_view name);

struct Unescaped {
  std::string text;
  // `text` then holds the surrogate as the three bytes that UTF-8 forbids, so that nothing is lost.
  bool has_lone_surrogate = false;
  bool is_usual = true;  // the escapes are those that append_json_string writes
};
// Returns the text of a JSON string given without its quotes; nothing if an escape is wrong. Does
// not check bytes outside escapes.
std::optional<Unescaped> unescape_json(std::string_view between_quotes);

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// True for ASCII letters, digits and '_' that do not begin with a digit.
bool is_word(std::string_view text);
// True for a name in Python: a word that is no keyword.
bool is_identifier(std::string_view text);
// True if the name denotes a file in the same folder on every system.
bool is_file_name(std::string_view name);

// Escapes `text` for HTML or SVG, between tags or in an attribute's double quotes. No character of
// it remains markup; characters that XML forbids become '?'.
std::string escape_markup(std::string_view text);

// True for strict UTF-8: shortest forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text);
// Returns how many bytes from the start are whole, valid characters; for messages.
size_t valid_utf8_prefix(std::string_view text);

}  // namespace pt2

#endif  // PT2_BASE_TEXT_H
