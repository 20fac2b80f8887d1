#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_keys.h"
#include "base/json_reader.h"
#include "base/text.h"

namespace pt2 {
namespace {

class Builder {
 public:
  Builder(JsonText& json, const JsonOptions& options) : json_(json), options_(options) {}

  Result<JsonValue> root(ondemand::document& document, char first) const {
    if (options_.max_depth == 0) return too_deep();
    if (first == '{') {
      ondemand::object object;
      if (const auto error = document.get_object().get(object)) return json_.error(error);
      return read_object(object, 1);
    }
    ondemand::array array;
    if (const auto error = document.get_array().get(array)) return json_.error(error);
    return read_array(array, 1);
  }

  Result<JsonValue> read_scalar(std::string_view token) const {
    if (token == "null") return JsonValue{};
    if (token == "true" || token == "false")
      return JsonValue{JsonValue::Kind::boolean, token == "true", {}, {}, {}};
    // A text that is one scalar reaches this function whole: "a" "b" is no string.
    if (token.size() >= 2 && token.front() == '"' && json_string_end(token, 0) + 1 == token.size())
      return read_string(token);
    if (is_json_number(token) || (options_.allow_non_finite && is_non_finite(token))) {
      return JsonValue{JsonValue::Kind::number, false, std::string(token), {}, {}};
    }
    return mismatch("a JSON value", token);
  }

 private:
  Error too_deep() const {
    return {ErrorCode::limit,
            fmt::format("nested deeper than {} (max_json_depth)", options_.max_depth), ""};
  }

  // At the depth limit the path is left out: it would be as long as the text is deep.
  static Error inside(Error error, const std::string& step) {
    return error.code == ErrorCode::limit ? std::move(error) : at(std::move(error), step);
  }

  static bool is_non_finite(std::string_view token) {
    return token == "NaN" || token == "Infinity" || token == "-Infinity";
  }

  static Result<JsonValue> read_string(std::string_view token) {
    auto unescaped = unescape_json(token.substr(1, token.size() - 2));
    if (!unescaped) return mismatch("a string with JSON's escapes", token);
    return JsonValue{JsonValue::Kind::string, false, std::move(unescaped->text), {}, {}};
  }

  Result<JsonValue> read(ondemand::value value, uint32_t depth) const {
    const std::string_view token = scalar_token(value);
    const char first = token.empty() ? '\0' : token[0];
    if (first == '{' || first == '[') {
      if (depth > options_.max_depth) return too_deep();
      if (first == '{') {
        ondemand::object object;
        if (const auto error = value.get_object().get(object)) return json_.error(error);
        return read_object(object, depth);
      }
      ondemand::array array;
      if (const auto error = value.get_array().get(array)) return json_.error(error);
      return read_array(array, depth);
    }
    if (first == '"') (void)take_string(value);
    return read_scalar(token);
  }

  Result<JsonValue> read_array(ondemand::array array, uint32_t depth) const {
    JsonValue out{JsonValue::Kind::array, false, {}, {}, {}};
    for (auto element : array) {
      ondemand::value value;
      if (const auto error = element.get(value)) return json_.error(error);
      auto item = read(value, depth + 1);
      if (!item) return inside(std::move(item).error(), fmt::format("[{}]", out.items.size()));
      out.items.push_back(*std::move(item));
    }
    return out;
  }

  Result<JsonValue> read_object(ondemand::object object, uint32_t depth) const {
    JsonValue out{JsonValue::Kind::object, false, {}, {}, {}};
    for (auto element : object) {
      ondemand::field field;
      if (const auto error = std::move(element).get(field)) return json_.error(error);
      const std::string_view raw_key = key_between_quotes(field.key());
      auto key = unescape_json(raw_key);
      if (!key) return mismatch("a key with JSON's escapes", raw_key);
      auto member = read(field.value(), depth + 1);
      if (!member) return inside(std::move(member).error(), "." + key->text);
      out.members.push_back({std::move(key->text), *std::move(member)});
    }
    PT2_TRY_VOID(check_keys(out.members));
    return out;
  }

  static Result<void> check_keys(const JsonValue::Members& members) {
    std::vector<std::string_view> keys;
    keys.reserve(members.size());
    for (const auto& member : members) keys.push_back(member.key);
    if (const auto twice = find_duplicate(keys)) {
      return malformed(fmt::format("the key {} occurs twice", print_json_string(*twice)));
    }
    return {};
  }

  JsonText& json_;
  JsonOptions options_;
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

Error wrong_kind(std::string_view expected, const JsonValue& found) {
  const std::string text =
      found.is_number() ? excerpt(found.text) : std::string(json_kind_name(found.kind));
  return malformed(fmt::format("found {}, expected {}", text, expected));
}

}  // namespace

const JsonValue* JsonValue::find(std::string_view key) const {
  const auto member = std::find_if(members.begin(), members.end(),
                                   [&](const auto& each) { return each.key == key; });
  return member == members.end() ? nullptr : &member->value;
}

Result<int64_t> JsonValue::get_int() const {
  const auto value = is_number() ? parse_int(text) : std::nullopt;
  if (!value) return wrong_kind("an int", *this);
  return *value;
}

Result<double> JsonValue::get_float() const {
  auto value = is_number() ? parse_float(text) : std::nullopt;
  if (!value && is_number()) value = parse_non_finite(text);
  if (!value) return wrong_kind("a number", *this);
  return *value;
}

Result<bool> JsonValue::get_bool() const {
  if (kind != Kind::boolean) return wrong_kind("a bool", *this);
  return boolean;
}

Result<std::string_view> JsonValue::get_string() const {
  if (!is_string()) return wrong_kind("a string", *this);
  return std::string_view(text);
}

std::string_view json_kind_name(JsonValue::Kind kind) {
  switch (kind) {
    case JsonValue::Kind::null:
      return "null";
    case JsonValue::Kind::boolean:
      return "a bool";
    case JsonValue::Kind::number:
      return "a number";
    case JsonValue::Kind::string:
      return "a string";
    case JsonValue::Kind::array:
      return "a list";
    case JsonValue::Kind::object:
      return "an object";
  }
  return "";
}

Result<JsonValue> parse_json(std::string_view text, const JsonOptions& options) {
  const std::string_view content = trimmed(text);
  JsonText json;
  const size_t blanks = content.empty() ? 0 : static_cast<size_t>(content.data() - text.data());
  PT2_TRY_VOID(json.open(content, "", options.before + blanks));
  Builder builder(json, options);
  if (content[0] != '{' && content[0] != '[') return builder.read_scalar(content);
  PT2_TRY(JsonValue value, builder.root(json.document(), content[0]));
  PT2_TRY_VOID(json.check_end());
  return value;
}

void JsonWriter::new_line() {
  out_ += '\n';
  out_.append(size_t{2} * depth_, ' ');
}

void JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  needs_comma_ = false;
  ++depth_;
}

void JsonWriter::close(char bracket) {
  --depth_;
  if (style_ == JsonStyle::pretty && needs_comma_) new_line();
  out_ += bracket;
  needs_comma_ = true;
}

void JsonWriter::key(std::string_view name) {
  separate();
  append_json_string(out_, name, ascii_);
  end_key();
}

void JsonWriter::string(std::string_view text) {
  separate();
  append_json_string(out_, text, ascii_);
  needs_comma_ = true;
}

void JsonWriter::integer(int64_t value) {
  separate();
  append_int(out_, value);
  needs_comma_ = true;
}

void JsonWriter::number(double value) {
  separate();
  append_float(out_, value, NonFinite::json);
  needs_comma_ = true;
}

void JsonWriter::boolean(bool value) { raw(value ? "true" : "false"); }

void JsonWriter::value(const JsonValue& value) {
  switch (value.kind) {
    case JsonValue::Kind::null:
      return null();
    case JsonValue::Kind::boolean:
      return boolean(value.boolean);
    case JsonValue::Kind::number:
      return raw(value.text);
    case JsonValue::Kind::string:
      return string(value.text);
    case JsonValue::Kind::array:
      begin_array();
      for (const JsonValue& item : value.items) this->value(item);
      return end_array();
    case JsonValue::Kind::object:
      begin_object();
      for (const auto& [name, member] : value.members) {
        key(name);
        this->value(member);
      }
      return end_object();
  }
}

std::string print_json(const JsonValue& value, JsonStyle style) {
  JsonWriter writer(style);
  writer.value(value);
  return writer.take();
}

}  // namespace pt2
