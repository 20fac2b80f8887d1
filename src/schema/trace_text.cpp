// {"keys": [["dtype"], ["size", "si\u007ae"], [null, "extra", "[1, 2]"]],
//  "spellings": [[".device.index", "0", "-0"]], "compact": true, "raw_utf8": true}
// A key is a known member, a known member with its own spelling, or an unknown key with its JSON.
// A spelling is a path, the encoder's text, and the file's text.
#include "schema/trace_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "schema/trace.h"

namespace pt2::schema {
namespace {

Error wrong(std::string message) { return {ErrorCode::malformed, std::move(message), {}}; }

void write_strings(JsonWriter& writer, std::initializer_list<const std::string*> texts) {
  writer.begin_array();
  for (const std::string* text : texts) text ? writer.string(*text) : writer.null();
  writer.end_array();
}

void write_key(JsonWriter& writer, const Trace::Field& field, const Type& type) {
  if (field.member < 0) return write_strings(writer, {nullptr, &field.key, &field.json});
  const std::string known(type.members[static_cast<size_t>(field.member)].key);
  if (known == field.key) return write_strings(writer, {&known});
  write_strings(writer, {&known, &field.key});
}

Result<std::vector<std::string_view>> strings_of(const JsonValue& value, size_t from, size_t count,
                                                 std::string_view what) {
  if (!value.is_array() || value.items.size() < count)
    return wrong(fmt::format("expected {}", what));
  std::vector<std::string_view> texts;
  for (size_t i = from; i < value.items.size(); ++i) {
    PT2_TRY(std::string_view text, value.items[i].get_string());
    texts.push_back(text);
  }
  return texts;
}

Result<void> check_json(std::string_view json) {
  if (auto parsed = parse_json(json, {.allow_non_finite = true}); !parsed)
    return std::move(parsed).error();
  return {};
}

// Returns the first of the members that share the key, as the encoder expects.
Result<int> find_member(std::string_view key, const Type& type) {
  for (size_t i = 0; i < type.members.size(); ++i)
    if (type.members[i].key == key) return static_cast<int>(i);
  return wrong(fmt::format("{} has no member '{}'", type.name, key));
}

Result<Trace::Field> read_key(const JsonValue& value, const Type& type) {
  constexpr std::string_view kWhat = "[key], [key, spelling] or [null, key, JSON]";
  Trace::Field field;
  if (!value.is_array() || value.items.empty()) return wrong(fmt::format("expected {}", kWhat));
  if (value.items[0].is_null()) {
    PT2_TRY(const auto texts, strings_of(value, 1, 3, kWhat));
    field.key = texts[0];
    field.json = texts[1];
    PT2_TRY_VOID(check_json(field.json));
  } else {
    PT2_TRY(const auto texts, strings_of(value, 0, 1, kWhat));
    PT2_TRY(field.member, find_member(texts[0], type));
    field.key = texts.back();
  }
  if (!unescape_json(field.key)) return wrong("a key is not the inside of a JSON string");
  return field;
}

Result<void> read_keys(const JsonValue& value, const Type& type, Trace& trace) {
  std::vector<std::string> names;
  for (const JsonValue& item : value.items) {
    PT2_TRY(Trace::Field field, read_key(item, type));
    names.push_back(unescape_json(field.key)->text);
    trace.fields.push_back(std::move(field));
  }
  std::ranges::sort(names);
  if (std::ranges::adjacent_find(names) != names.end()) return wrong("a key is there twice");
  return {};
}

Result<void> read_spellings(const JsonValue& value, Trace& trace) {
  for (const JsonValue& item : value.items) {
    PT2_TRY(const auto texts, strings_of(item, 0, 3, "[path, usual, spelled]"));
    PT2_TRY_VOID(check_json(texts[2]));
    trace.spellings.push_back(
        {std::string(texts[0]), std::string(texts[1]), std::string(texts[2])});
  }
  return {};
}

}  // namespace

std::string print_trace(const TraceHolder& holder, const Type& type) {
  const Trace* trace = holder.get();
  if (trace == nullptr) return {};
  JsonWriter writer;
  writer.begin_object();
  if (!trace->fields.empty()) {
    writer.key("keys");
    writer.begin_array();
    for (const Trace::Field& field : trace->fields) write_key(writer, field, type);
    writer.end_array();
  }
  if (!trace->spellings.empty()) {
    writer.key("spellings");
    writer.begin_array();
    for (const Trace::Spelling& each : trace->spellings)
      write_strings(writer, {&each.path, &each.usual, &each.spelled});
    writer.end_array();
  }
  for (const auto& [name, flag] :
       {std::pair("compact", trace->compact), std::pair("raw_utf8", trace->raw_utf8)}) {
    if (!flag) continue;
    writer.key(name);
    writer.boolean(true);
  }
  writer.end_object();
  return writer.take();
}

Result<TraceHolder> parse_trace(std::string_view text, const Type& type) {
  PT2_TRY(const JsonValue value, parse_json(text));
  if (!value.is_object()) return wrong("expected an object");
  TraceHolder holder;
  Trace& trace = holder.make();
  for (const auto& [key, member] : value.members) {
    if (key == "keys") {
      PT2_TRY_VOID(read_keys(member, type, trace));
    } else if (key == "spellings") {
      PT2_TRY_VOID(read_spellings(member, trace));
    } else if (key == "compact") {
      PT2_TRY(trace.compact, member.get_bool());
    } else if (key == "raw_utf8") {
      PT2_TRY(trace.raw_utf8, member.get_bool());
    } else {
      return wrong(fmt::format("a spelling has no '{}'", key));
    }
  }
  return holder;
}

}  // namespace pt2::schema
