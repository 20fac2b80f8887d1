// Small JSON documents as values, and a writer of JSON text. The export schema has its own decoder
// (schema_json.h). This one reads the rest: safetensors headers, recorded calls, tree specs,
// unknown members.
#ifndef PT2_BASE_JSON_H
#define PT2_BASE_JSON_H

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "pt2/result.h"

namespace pt2 {

struct JsonMember;

struct JsonValue {
  enum class Kind : uint8_t { null, boolean, number, string, array, object };
  using Members = std::vector<JsonMember>;

  Kind kind = Kind::null;
  bool boolean = false;
  std::string text;              // a string's text; a number as it was spelled
  std::vector<JsonValue> items;  // array
  Members members;               // object, in the order of the text

  bool is_null() const { return kind == Kind::null; }
  bool is_string() const { return kind == Kind::string; }
  bool is_number() const { return kind == Kind::number; }
  bool is_array() const { return kind == Kind::array; }
  bool is_object() const { return kind == Kind::object; }

  // Returns the member of an object; null if there is none or this is no object. Linear in the
  // members.
  const JsonValue* find(std::string_view key) const;

  // These fail as `malformed`, naming what was found; the caller adds the place with at().
  Result<int64_t> get_int() const;
  Result<double> get_float()
      const;  // any number; NaN and infinities too if parse_json accepted them
  Result<bool> get_bool() const;
  Result<std::string_view> get_string() const;
};

struct JsonMember {
  std::string key;
  JsonValue value;
};

std::string_view json_kind_name(JsonValue::Kind kind);

struct JsonOptions {
  uint32_t max_depth = 512;
  bool allow_non_finite = false;  // Python's bare NaN, Infinity and -Infinity, as numbers
  size_t before = 0;              // bytes of the file before the text, for places in messages
};

// Parses one whole JSON text. Trailing text, duplicate keys, invalid UTF-8, wrong escapes and
// non-JSON numbers fail as `malformed` with a `where` such as ".a[3]"; nesting beyond max_depth
// fails as `limit`. Lone surrogates become the three bytes that UTF-8 forbids (see unescape_json).
// Linear in the text.
Result<JsonValue> parse_json(std::string_view text, const JsonOptions& options = {});

enum class JsonStyle : uint8_t {
  python,   // json.dumps: {"a": 1, "b": [2, 3]}
  compact,  // {"a":1,"b":[2,3]}
  pretty,   // json.dumps(indent=2)
};

// Writes JSON text from begin to end, and adds commas, colons and indentation itself. The caller
// must nest correctly: begin_object, then alternating keys and values, then end_object.
class JsonWriter {
 public:
  explicit JsonWriter(JsonStyle style = JsonStyle::python, bool ascii = true)
      : style_(style), ascii_(ascii) {}

  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }
  void key(std::string_view name);
  void raw_key(std::string_view between_quotes);  // already escaped
  void string(std::string_view text);
  void integer(int64_t value);
  void number(double value);  // Python's spelling; non-finite values as bare NaN and Infinity
  void boolean(bool value);
  void null() { raw("null"); }
  void raw(std::string_view json);  // a whole value, already JSON
  void value(const JsonValue& value);

  const std::string& text() const { return out_; }
  std::string take() { return std::move(out_); }

 private:
  void open(char bracket);
  void close(char bracket);
  void separate();
  void end_key();
  void new_line();

  std::string out_;
  JsonStyle style_;
  bool ascii_;
  bool needs_comma_ = false;
  bool after_key_ = false;
  uint32_t depth_ = 0;
};

inline void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (needs_comma_) out_ += style_ == JsonStyle::python ? ", " : ",";
  if (style_ == JsonStyle::pretty && depth_ > 0) new_line();
}

inline void JsonWriter::end_key() {
  out_ += style_ == JsonStyle::compact ? ":" : ": ";
  after_key_ = true;
  needs_comma_ = true;
}

inline void JsonWriter::raw_key(std::string_view between_quotes) {
  separate();
  out_ += '"';
  out_ += between_quotes;
  out_ += '"';
  end_key();
}

inline void JsonWriter::raw(std::string_view json) {
  separate();
  out_ += json;
  needs_comma_ = true;
}

std::string print_json(const JsonValue& value, JsonStyle style = JsonStyle::python);

}  // namespace pt2

#endif  // PT2_BASE_JSON_H
