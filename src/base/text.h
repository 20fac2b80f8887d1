// Numbers and strings as text: Python's spellings, because the files were written by Python and
// must come back byte for byte. Nothing here depends on the locale.
#ifndef PT2_BASE_TEXT_H
#define PT2_BASE_TEXT_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pt2/dtype.h"

namespace pt2 {

// How infinities and NaN are spelled: repr(float) says inf, json.dumps says Infinity.
enum class NonFinite : uint8_t { python, json };

// Python's repr(float): the shortest digits that read back as the same number, fixed notation where
// 1e-4 <= |x| < 1e16, always with a dot or an exponent of at least two digits: "1.0", "1e+16",
// "1e-05", "-0.0".
void append_float(std::string& out, double value, NonFinite non_finite = NonFinite::python);
std::string print_float(double value, NonFinite non_finite = NonFinite::python);
void append_int(std::string& out, int64_t value);

// Accepts only a JSON number: no sign but '-', no leading zero, no blanks, no "inf". Nothing for
// other texts, and for a number that does not fit (a float that overflows, or a non-zero one that
// underflows to zero).
std::optional<double> parse_float(std::string_view text);
std::optional<int64_t> parse_int(std::string_view text);
bool is_json_number(std::string_view text);
// "inf", "Infinity", "nan", "NaN" with an optional '-'.
std::optional<double> parse_non_finite(std::string_view text);

// Appends `text` as a JSON string with its quotes, as json.dumps does; with `ascii`, everything
// beyond ASCII becomes \uXXXX. Bytes ED A0..BF xx, which unescape_json makes of lone surrogates,
// become their escapes again in both cases.
void append_json_string(std::string& out, std::string_view text, bool ascii = true);
std::string print_json_string(std::string_view text);

// "f32[2, 3]".
std::string type_text(Dtype dtype, std::span<const int64_t> sizes);

// Python's repr of a name, which holds no backslash and not both quotes.
std::string print_python_string(std::string_view name);

struct Unescaped {
  std::string text;
  // The surrogate is then in `text` as the three bytes that UTF-8 forbids, so that nothing is lost.
  bool has_lone_surrogate = false;
  bool is_usual = true;  // the escapes are those that append_json_string writes
};
// The text of a JSON string given without its quotes; nothing when an escape is wrong. Bytes
// outside escapes are copied unchecked.
std::optional<Unescaped> unescape_json(std::string_view between_quotes);

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// ASCII letters, digits and '_', no digit first.
bool is_word(std::string_view text);
// A name in Python: a word that is no keyword.
bool is_identifier(std::string_view text);
// A name that leads nowhere else than to a file of the folder itself, on any system.
bool is_file_name(std::string_view name);

// `text` between the tags of HTML or SVG, or in an attribute's double quotes: no character of it is
// markup, and those that XML forbids are '?'.
std::string escape_markup(std::string_view text);

// Strict UTF-8: shortest forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text);
// How many bytes from the start are whole, valid characters; for messages.
size_t valid_utf8_prefix(std::string_view text);

}  // namespace pt2

#endif  // PT2_BASE_TEXT_H
