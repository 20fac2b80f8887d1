#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "pt2/format/schema_json.h"
#include "schema/encode.h"
#include "schema/path.h"
#include "schema/pieces.h"
#include "schema/profile.h"
#include "schema/program_memory.h"
#include "schema/scalar.h"
#include "schema/trace.h"
#include "schema/version.h"

namespace pt2::schema {
namespace {

template <class T>
T& mutable_as(void* value) {
  return *static_cast<T*>(value);
}

// A file may break a rule a million times; readers need only the first findings.
constexpr size_t kMaxFindingsPerRule = 100;
constexpr size_t kMaxMembers = 64;
// Notes on unusual spellings may take many times the memory of the text, above all in nested
// unions.
constexpr size_t kSpellingBytes = 1 << 20;
constexpr size_t kSpellingBytesPerByte = 16;

}  // namespace

// The keys of a record that its version writes. Bit i stands for the key of member i. For members
// that share a key, the bit is that of the first member.
struct Expectation {
  uint64_t required = 0;  // missing is an error
  uint64_t always = 0;    // always written, whatever the value
  uint64_t optional = 0;  // null by default
};

// An unread JSON value and its token: the whole scalar, or the opening bracket.
struct UnreadValue {
  ondemand::value json;
  std::string_view token;

  explicit UnreadValue(ondemand::value value) : json(value), token(scalar_token(json)) {}
  char first() const { return token.empty() ? '\0' : token[0]; }
};

// Reads the text in one pass. Functions return false after they have set error_.
class Decoder {
 public:
  // `json_bytes` is the size of the whole text.
  Decoder(const Profile& profile, const Limits& limits, size_t json_bytes, Diagnostics& warnings)
      : profile_(profile),
        newer_minor_(profile.version > kNewestVersion),
        limits_(limits),
        warnings_(warnings),
        memory_(limits, json_bytes) {
    for (const Type* type : all_types()) expectations_.push_back(expect(*type));
  }

  Result<void> decode(const Type& type, void* out, std::string_view json) {
    PT2_TRY_VOID(text_.open(json));
    spelling_budget_ = kSpellingBytes + kSpellingBytesPerByte * json.size();
    has_special_bytes_ = profile_.raw_utf8 || json.find('\x7f') != std::string_view::npos;
    ondemand::object object;
    ondemand::json_type kind;
    if (text_.document().type().get(kind) != simdjson::SUCCESS ||
        kind != ondemand::json_type::object) {
      return mismatch(type.name, json.substr(0, json.find_last_not_of(" \t\r\n") + 1));
    }
    if (const auto error = text_.document().get_object().get(object)) return text_.error(error);
    Step root{.depth = 1};
    if (!read_fields(object, type, out, root)) return std::move(error_);
    return text_.check_end();
  }

  // Reads the elements of a list or a dictionary at `depth`, without its brackets. Fails on unusual
  // spellings, because the record that would keep them is not decoded here.
  Result<void> decode_elements(const Type& type, void* out, std::string_view json, uint32_t depth) {
    PT2_TRY_VOID(text_.open(json, type.kind == Kind::list ? "[]" : "{}"));
    spelling_budget_ += kSpellingBytesPerByte * json.size();
    has_special_bytes_ = profile_.raw_utf8 || json.find('\x7f') != std::string_view::npos;
    ondemand::value root;
    if (const auto error = text_.document().get_value().get(root)) return text_.error(error);
    TraceHolder around;
    Step step{.trace = &around, .depth = depth};
    UnreadValue value(root);
    if (!read(value, type, out, step)) return std::move(error_);
    if (around.get() != nullptr || type.size(out) == 0) return malformed("an unusual spelling");
    return text_.check_end();
  }

 private:
  // The keys of one record that were read so far.
  struct Fields {
    uint64_t seen = 0;  // bits as in Expectation
    uint64_t null = 0;
    int last = -1;
    bool in_order = true;
    size_t count = 0;
    std::array<int8_t, kMaxMembers> order;                  // the known keys, `count` of them
    std::vector<std::pair<size_t, Trace::Field>> unknown;   // with `count` at that time
    std::vector<std::pair<int, std::string>> spelled_keys;  // known keys with needless escapes
  };

  Expectation expect(const Type& type) const {
    Expectation all;
    if (type.kind != Kind::record) return all;
    for (size_t first = 0; first < type.members.size(); first = type.members[first].key_end) {
      const uint64_t bit = uint64_t{1} << first;
      for (size_t i = first; i < type.members[first].key_end; ++i) {
        const Member& member = type.members[i];
        if (!member.is_in(profile_.version)) continue;
        const bool is_optional = member.presence == Presence::optional;
        if (member.presence == Presence::required) all.required |= bit;
        if (is_optional) all.optional |= bit;
        if (!is_optional && member.presence != Presence::unreleased) all.always |= bit;
      }
    }
    all.optional &= ~all.required;
    return all;
  }

  bool fail(const Step& step, ErrorCode code, std::string message) {
    error_ = {code, std::move(message), print_path(step)};
    return false;
  }
  bool fail(const Step& step, Error error) {
    error_ = at(std::move(error), print_path(step));
    return false;
  }
  bool fail_type(const Step& step, std::string_view expected, std::string_view token) {
    return fail(step, mismatch(expected, token));
  }

  void warn(const Step& step, Rule rule, std::string text) {
    const size_t count = ++findings_[static_cast<size_t>(rule) % findings_.size()];
    if (count > kMaxFindingsPerRule) return;
    if (count == kMaxFindingsPerRule) text += "; there may be more";
    warnings_.add(rule, print_path(step), std::move(text));
  }

  bool open_object(UnreadValue& value, const Type& type, const Step& step,
                   ondemand::object& object) {
    if (value.first() != '{') return fail_type(step, type_text(type), value.token);
    if (!check_depth(step)) return false;
    if (const auto error = value.json.get_object().get(object))
      return fail(step, text_.error(error));
    return true;
  }

  bool open_array(UnreadValue& value, const Type& type, const Step& step, ondemand::array& array) {
    if (value.first() != '[') return fail_type(step, type_text(type), value.token);
    if (!check_depth(step)) return false;
    if (const auto error = value.json.get_array().get(array)) return fail(step, text_.error(error));
    return true;
  }

  bool check_depth(const Step& step) {
    return step.depth <= limits_.max_json_depth || fail_depth(step);
  }

  bool fail_depth(const Step& step) {
    return fail(step, ErrorCode::limit,
                fmt::format("nested deeper than {} (max_json_depth)", limits_.max_json_depth));
  }

  bool fail_memory(const Step& step) {
    return fail(step, ErrorCode::limit,
                fmt::format("the program takes more than {} bytes of memory (max_program_ratio)",
                            memory_.max()));
  }

  bool read(UnreadValue& value, const Type& type, void* out, Step& step) {
    switch (type.kind) {
      case Kind::optional:
        if (value.token == "null") return true;
        return read(value, *type.element, type.add(out, nullptr, 0), step);
      case Kind::box:
        if (!memory_.take_element(*type.element)) return fail_memory(step);
        return read(value, *type.element, type.at(out), step);
      case Kind::json:
        return take_json(value, step, mutable_as<Json>(out).text);
      case Kind::none:
        return read_none(value, type, out, step);
      case Kind::list:
        return read_list(value, type, out, step);
      case Kind::dict:
        return read_dict(value, type, out, step);
      case Kind::record:
        return read_record(value, type, out, step);
      case Kind::variant:
        return read_variant(value, type, out, step);
      case Kind::boolean:
      case Kind::integer:
      case Kind::number:
      case Kind::string:
      case Kind::enumeration:
        return read_leaf(value, type, out, step);
    }
    return true;
  }

  bool read_leaf(UnreadValue& value, const Type& type, void* out, Step& step) {
    const std::string_view token = value.token;
    if (value.first() == '"') (void)take_string(value.json);
    const ScalarNote note = read_scalar(token, type, out, profile_, has_special_bytes_);
    if (!note.expected.empty()) return fail_type(step, note.expected, token);
    if (note.lone_surrogate)
      warn(step, Rule::lone_surrogate, fmt::format("found {}", excerpt(token)));
    if (note.nonstandard) {
      warn(step, Rule::nonstandard_number,
           fmt::format("found {}, which schema version {} does not write", token,
                       version_text(profile_.version)));
    }
    if (note.unknown_enumerator && !accept_enumerator(type, token, step)) return false;
    return !note.unusual || note_spelling(step, type, out, token);
  }

  bool accept_enumerator(const Type& type, std::string_view token, const Step& step) {
    std::string text = fmt::format("found {}, expected a number of {}", token, type.name);
    if (!newer_minor_) return fail(step, ErrorCode::invalid, std::move(text));
    warn(step, Rule::unknown_enumerator, std::move(text));
    return true;
  }

  // Adds a spelling that differs from the usual one to the innermost record around the value.
  bool note_spelling(const Step& step, const Type& type, const void* value,
                     std::string_view spelled) {
    std::string usual = encode_as(type, value, profile_of(profile_.version), JsonStyle::python);
    if (usual == spelled) return true;
    const Step* record = &step;
    while (record->parent && !record->trace) record = record->parent;
    Trace::Spelling spelling{print_path(step, record), std::move(usual), std::string(spelled)};
    const size_t cost =
        sizeof spelling + spelling.path.size() + spelling.usual.size() + spelled.size();
    if (cost > spelling_budget_) {
      return fail(step, ErrorCode::limit, "found more unusual spellings than can be kept");
    }
    spelling_budget_ -= cost;
    record->trace->make().spellings.push_back(std::move(spelling));
    return true;
  }

  // Returns the text from `begin` to the document's current location, without trailing blanks.
  std::string_view text_since(const char* begin) {
    const char* end = nullptr;
    if (text_.document().current_location().get(end) != simdjson::SUCCESS) end = begin;
    std::string_view text(begin, static_cast<size_t>(end - begin));
    return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  }

  // Takes a value without a schema type: checks it and keeps it as text.
  bool take_json(UnreadValue& value, const Step& step, std::string& out) {
    std::string_view json = value.token;
    simdjson::error_code error = simdjson::SUCCESS;
    if (value.first() == '{') {
      ondemand::object object;
      error = value.json.get_object().get(object);
      if (!error) error = object.raw_json().get(json);
    } else if (value.first() == '[') {
      ondemand::array array;
      error = value.json.get_array().get(array);
      if (!error) error = array.raw_json().get(json);
    } else if (value.first() == '"') {
      (void)take_string(value.json);
    }
    if (error) return fail(step, text_.error(error));
    json = json.substr(0, json.find_last_not_of(" \t\r\n") + 1);
    const bool is_scalar = json.size() == value.token.size();
    if (!memory_.take_json(json.size(), is_scalar)) return fail_memory(step);
    const uint32_t depth_left =
        limits_.max_json_depth > step.depth ? limits_.max_json_depth - step.depth : 0;
    const auto parsed = parse_json(
        json,
        {.max_depth = depth_left, .allow_non_finite = true, .before = text_.byte_of(json.data())});
    if (!parsed && parsed.error().code == ErrorCode::limit) return fail_depth(step);
    if (!parsed) return fail(step, parsed.error());
    out = json;
    return true;
  }

  bool read_none(UnreadValue& value, const Type& type, void* out, Step& step) {
    const bool is_list = value.first() == '[';
    if (!is_list && value.token != "true")
      return fail_type(step, profile_.none_is_list ? "[]" : "true", value.token);
    if (is_list) {
      ondemand::array array;
      if (!open_array(value, type, step, array)) return false;
      for (auto element : array) {
        (void)element;
        return fail(step, ErrorCode::malformed, "found a list with elements, expected []");
      }
    }
    return is_list == profile_.none_is_list ||
           note_spelling(step, type, out, is_list ? "[]" : "true");
  }

  bool read_list(UnreadValue& value, const Type& type, void* out, Step& step) {
    ondemand::array array;
    if (!open_array(value, type, step, array)) return false;
    size_t count = 0;
    for (auto element : array) {
      Step inner = step.element(count++);
      if (!memory_.take_element(*type.element)) return fail_memory(inner);
      ondemand::value json;
      if (const auto error = element.get(json)) return fail(inner, text_.error(error));
      UnreadValue item(json);
      if (!read(item, *type.element, type.add(out, nullptr, 0), inner)) return false;
    }
    return true;
  }

  bool read_dict(UnreadValue& value, const Type& type, void* out, Step& step) {
    const char* begin = value.token.data();
    ondemand::object object;
    if (!open_object(value, type, step, object)) return false;
    bool usual_keys = true;
    for (auto element : object) {
      ondemand::field field;
      if (const auto error = std::move(element).get(field)) return fail(step, text_.error(error));
      std::string key;
      if (!read_key(key_between_quotes(field.key()), step, key, usual_keys)) return false;
      if (!memory_.take_element(*type.element) || !memory_.take(sizeof key + key.size()))
        return fail_memory(step);
      void* slot = type.add(out, &key, 0);
      Step inner = step.below(type.key(out, type.size(out) - 1));
      UnreadValue entry(field.value());
      if (!read(entry, *type.element, slot, inner)) return false;
    }
    for (size_t i = 0; i < type.size(out); ++i) keys_.push_back(type.key(out, i));
    if (!check_keys(step)) return false;
    return usual_keys || note_spelling(step, type, out, text_since(begin));
  }

  bool read_key(std::string_view raw, const Step& step, std::string& key, bool& usual) {
    if (raw.find('\\') == std::string_view::npos && !has_special_bytes_) {
      key = raw;
      return true;
    }
    auto unescaped = unescape_json(raw);
    if (!unescaped) return fail_type(step, "a key with JSON's escapes", raw);
    key = std::move(unescaped->text);
    if (unescaped->has_lone_surrogate)
      warn(step, Rule::lone_surrogate, fmt::format("found the key {}", excerpt(raw)));
    std::string printed;
    append_json_string(printed, key, !profile_.raw_utf8);
    usual &= std::string_view(printed).substr(1, printed.size() - 2) == raw;
    return true;
  }

  // Fails if two of keys_ are equal; clears keys_.
  bool check_keys(const Step& step) {
    const auto twice = find_duplicate(keys_);
    keys_.clear();
    if (!twice) return true;
    return fail(step, ErrorCode::malformed,
                fmt::format("the key {} occurs twice", print_json_string(*twice)));
  }

  bool read_record(UnreadValue& value, const Type& type, void* out, Step& step) {
    if (&type == &type_of<SchemaVersion>()) {
      if (value.first() != '{')
        return read_short_version(value, mutable_as<SchemaVersion>(out), step);
      if (profile_.plain_version) return fail_type(step, "an int", value.token);
    }
    ondemand::object object;
    if (!open_object(value, type, step, object)) return false;
    return read_fields(object, type, out, step);
  }

  // Reads a version that is not an object: versions 3 and 4 may write [3, 1]; 1 and 2 write a
  // number.
  bool read_short_version(UnreadValue& value, SchemaVersion& out, Step& step) {
    std::string json;
    if (!take_json(value, step, json)) return false;
    out = find_schema_version(fmt::format(R"({{"schema_version": {}}})", json), true);
    if (out.major == 0) return fail_type(step, "a schema version", json);
    return profile_.plain_version || note_spelling(step, type_of<SchemaVersion>(), &out, json);
  }

  bool read_fields(ondemand::object& object, const Type& type, void* out, Step& step) {
    step.trace = type.trace(out);
    Fields fields;
    for (auto element : object) {
      ondemand::field field;
      if (const auto error = std::move(element).get(field)) return fail(step, text_.error(error));
      if (!read_field(field, type, out, step, fields)) return false;
    }
    return finish_fields(type, out, step, fields);
  }

  bool read_field(ondemand::field& field, const Type& type, void* out, Step& step, Fields& fields) {
    int first = find_member(type, field.key().raw(), fields.last + 1);
    if (first < 0 && !name_field(field, type, step, fields, first)) return false;
    if (first < 0) return true;
    UnreadValue value(field.value());
    const Member& member = choose(type, static_cast<size_t>(first), value.token);
    const uint64_t bit = uint64_t{1} << first;
    if (fields.seen & bit) {
      return fail(step, ErrorCode::malformed,
                  fmt::format("the key {} occurs twice", print_json_string(member.key)));
    }
    fields.seen |= bit;
    fields.null |= value.token == "null" ? bit : 0;
    fields.in_order &= first > fields.last;
    fields.last = first;
    fields.order[fields.count++] = static_cast<int8_t>(first);
    Step inner = step.below(member.key);
    return read(value, *member.type, member.get(out), inner);
  }

  // Handles a key whose spelling matches no member: finds the member after unescaping the key, or
  // keeps the field as unknown.
  bool name_field(ondemand::field& field, const Type& type, Step& step, Fields& fields,
                  int& first) {
    const std::string_view raw = key_between_quotes(field.key());
    std::string name;
    bool usual = true;
    if (!read_key(raw, step, name, usual)) return false;
    for (size_t i = 0; i < type.members.size() && first < 0; i = type.members[i].key_end) {
      if (type.members[i].key == name) first = static_cast<int>(i);
    }
    if (first >= 0) {
      fields.spelled_keys.emplace_back(first, raw);
      return true;
    }
    Step inner = step.below(name);
    Trace::Field kept{-1, std::string(raw), {}};
    UnreadValue value(field.value());
    if (!take_json(value, inner, kept.json)) return false;
    warn(inner, Rule::unknown_field, fmt::format("{} has no such field", type.name));
    fields.unknown.emplace_back(fields.count, std::move(kept));
    return true;
  }

  // Returns the first member with the key at `key`, which ends at a quote. `hint` is the expected
  // member.
  static int find_member(const Type& type, const char* key, int hint) {
    const size_t count = type.members.size();
    for (size_t n = 0, i = static_cast<size_t>(hint); n < count; ++n, ++i) {
      if (i >= count) i -= count;
      const std::string_view name = type.members[i].key;
      if (key[name.size()] != '"' || std::memcmp(key, name.data(), name.size()) != 0) continue;
      while (i > 0 && type.members[i - 1].key == name) --i;
      return static_cast<int>(i);
    }
    return -1;
  }

  // Chooses among the members that share a key: the member of this version whose type fits the
  // token.
  const Member& choose(const Type& type, size_t first, std::string_view token) const {
    const size_t end = type.members[first].key_end;
    if (end == first + 1) return type.members[first];
    const Member* best = nullptr;
    for (size_t i = first; i < end; ++i) {
      const Member& member = type.members[i];
      const bool in_version = member.is_in(profile_.version);
      if (in_version && may_be(*member.type, token)) return member;
      if (in_version || !best) best = &member;
    }
    return *best;
  }

  bool finish_fields(const Type& type, const void* record, Step& step, Fields& fields) {
    const Expectation& expected = expectations_[static_cast<size_t>(type.ordinal)];
    if (const uint64_t missing = expected.required & ~fields.seen) {
      const size_t first = static_cast<size_t>(std::countr_zero(missing));
      return fail(
          step, ErrorCode::malformed,
          fmt::format("{} has no field {}", type.name, print_json_string(type.members[first].key)));
    }
    if (!fields.unknown.empty()) {
      for (const auto& [place, field] : fields.unknown) keys_.push_back(field.key);
      if (!check_keys(step)) return false;
    }
    const uint64_t optional = profile_.omits_null ? fields.seen & ~fields.null : ~uint64_t{0};
    const bool usual = fields.in_order && fields.unknown.empty() && fields.spelled_keys.empty() &&
                       fields.seen == (expected.always | (expected.optional & optional));
    if (&type == &type_of<SymExpr>() &&
        !memory_.take_expression(as<SymExpr>(record).expr_str.size()))
      return fail_memory(step);
    return usual || note_fields(type, step, fields);
  }

  bool note_fields(const Type& type, Step& step, Fields& fields) {
    if (!memory_.take((fields.count + fields.unknown.size()) * sizeof(Trace::Field)))
      return fail_memory(step);
    std::vector<Trace::Field> sequence;
    auto unknown = fields.unknown.begin();
    for (size_t i = 0; i <= fields.count; ++i) {
      for (; unknown != fields.unknown.end() && unknown->first == i; ++unknown) {
        sequence.push_back(std::move(unknown->second));
      }
      if (i == fields.count) break;
      const int member = fields.order[i];
      std::string key(type.members[static_cast<size_t>(member)].key);
      for (auto& [spelled_member, spelled] : fields.spelled_keys) {
        if (spelled_member == member) key = spelled;
      }
      sequence.push_back({member, std::move(key), {}});
    }
    step.trace->make().fields = std::move(sequence);
    return true;
  }

  // The alternatives of one union that were read so far.
  struct Alternatives {
    bool usual = true;
    size_t next = 0;       // the next alternative, if all are written
    std::string_view tag;  // from {"$type": tag, "$value": ...}
    std::string_view held_key;
  };

  bool read_variant(UnreadValue& value, const Type& type, void* out, Step& step) {
    const char* begin = value.token.data();
    ondemand::object object;
    if (!open_object(value, type, step, object)) return false;
    Alternatives found;
    for (auto element : object) {
      ondemand::field field;
      if (const auto error = std::move(element).get(field)) return fail(step, text_.error(error));
      const std::string_view key = key_between_quotes(field.key());
      UnreadValue payload(field.value());
      const bool tagged = profile_.unions == UnionSpelling::type_and_value && key.starts_with('$');
      if (tagged ? !read_tagged(key, payload, type, out, step, found)
                 : !read_alternative(key, payload, type, out, step, found)) {
        return false;
      }
    }
    if (found.held_key.empty()) {
      return fail(step, ErrorCode::malformed,
                  fmt::format("found no alternative, expected one of {}", type.name));
    }
    return is_usual(type, found) || note_spelling(step, type, out, text_since(begin));
  }

  bool is_usual(const Type& type, Alternatives& found) const {
    if (profile_.unions == UnionSpelling::all_alternatives) skip_other_versions(type, found);
    return found.usual &&
           (profile_.unions != UnionSpelling::all_alternatives ||
            found.next == type.members.size()) &&
           (profile_.unions != UnionSpelling::type_and_value || !found.tag.empty());
  }

  void skip_other_versions(const Type& type, Alternatives& found) const {
    while (found.next < type.members.size() && !type.members[found.next].is_in(profile_.version))
      ++found.next;
  }

  bool read_tagged(std::string_view key, UnreadValue& value, const Type& type, void* out,
                   Step& step, Alternatives& found) {
    if (key == "$type" && value.first() == '"' && found.tag.empty()) {
      found.tag = take_string(value.json);
      return true;
    }
    if (key == "$value" && !found.tag.empty()) {
      return read_alternative(found.tag, value, type, out, step, found);
    }
    return fail(step, ErrorCode::malformed,
                fmt::format("found the key {}, expected $type and then $value", excerpt(key)));
  }

  bool read_alternative(std::string_view key, UnreadValue& value, const Type& type, void* out,
                        Step& step, Alternatives& found) {
    const std::string_view token = value.token;
    size_t first = 0;
    while (first < type.members.size() && type.members[first].key != key) ++first;
    if (profile_.unions == UnionSpelling::all_alternatives && token == "null" &&
        first < type.members.size()) {
      return pass_alternative(key, type, found);
    }
    if (!found.held_key.empty()) {
      return fail(step, ErrorCode::malformed,
                  fmt::format("found \"{}\" beside \"{}\", expected one alternative of {}",
                              excerpt(key), found.held_key, type.name));
    }
    found.held_key = key;
    if (first == type.members.size()) return read_unknown_alternative(key, value, type, out, step);
    if (profile_.unions == UnionSpelling::all_alternatives)
      (void)pass_alternative(key, type, found);
    const Member& member = choose(type, first, token);
    const size_t index = static_cast<size_t>(&member - type.members.data());
    Step inner = step.below(member.key);
    return read(value, *member.type, type.add(out, nullptr, index), inner);
  }

  // Counts one alternative of a union that is written with all of its alternatives in order.
  bool pass_alternative(std::string_view key, const Type& type, Alternatives& found) const {
    skip_other_versions(type, found);
    found.usual &= found.next < type.members.size() && type.members[found.next].key == key;
    ++found.next;
    return true;
  }

  bool read_unknown_alternative(std::string_view key, UnreadValue& value, const Type& type,
                                void* out, const Step& step) {
    std::string text =
        fmt::format("found \"{}\", expected an alternative of {}", excerpt(key), type.name);
    if (!newer_minor_) return fail(step, ErrorCode::invalid, std::move(text));
    warn(step, Rule::unknown_alternative, std::move(text));
    auto& unknown = **static_cast<UnknownCase*>(type.add(out, nullptr, type.members.size()));
    unknown.tag = key;
    return take_json(value, step, unknown.value.text);
  }

  Profile profile_;
  bool newer_minor_;
  const Limits& limits_;
  Diagnostics& warnings_;
  ProgramMemory memory_;
  std::vector<Expectation> expectations_;  // by Type::ordinal
  JsonText text_;
  bool has_special_bytes_ = false;
  size_t spelling_budget_ = 0;
  std::array<size_t, 16> findings_{};  // by rule of this level
  std::vector<std::string_view> keys_;
  Error error_;
};

namespace {

// Observes the spelling of the whole file: the blanks at its first key, and whether it has
// non-ASCII bytes.
void observe(std::string_view json, Profile& profile) {
  const size_t colon = json.find("\":");
  const char next =
      colon == std::string_view::npos || colon + 2 >= json.size() ? ' ' : json[colon + 2];
  profile.compact = next != ' ' && next != '\n' && next != '\t' && next != '\r';
  // A loop without an early exit can be vectorized.
  unsigned char bits = 0;
  for (const char c : json) bits |= static_cast<unsigned char>(c);
  profile.raw_utf8 = bits >= 0x80;
}

// Returns the spelling of `json`, from its version and from observation.
Result<Profile> find_profile(const Type& type, std::string_view json, const Limits& limits,
                             Diagnostics& warnings) {
  if (json.size() > limits.max_json_bytes) {
    return Error{ErrorCode::limit,
                 fmt::format("{} bytes of JSON, expected at most {} (max_json_bytes)", json.size(),
                             limits.max_json_bytes),
                 ""};
  }
  const bool is_program = &type == &type_of<ExportedProgram>();
  const SchemaVersion version =
      is_of_draft(type) ? SchemaVersion{} : find_schema_version(json, is_program);
  const bool has_version = version.major != 0;
  if (has_version) PT2_TRY_VOID(check_major(version));
  Profile profile = profile_of(has_version ? version_number(version) : kNewestVersion);
  observe(json, profile);
  if (profile.version > kNewestVersion) {
    warnings.add(Rule::newer_minor, ".schema_version",
                 fmt::format("found version {}.{}, expected at most {}", version.major,
                             version.minor, version_text(kNewestVersion)));
  }
  return profile;
}

void note_observed(const Profile& profile, TraceHolder& spelling) {
  if (!profile.compact && !profile.raw_utf8) return;
  Trace& trace = spelling.make();
  trace.compact = profile.compact;
  trace.raw_utf8 = profile.raw_utf8;
}

// Checks rules that concern several fields.
Result<void> check_program(const ExportedProgram& program, const Limits& limits) {
  // Profiles treat any newer version as the newest one, but the version may not exist.
  PT2_TRY_VOID(check_major(program.schema_version));
  uint64_t bytes = 0;
  // Even an empty guard is parsed, and may be invalid.
  for (const std::string& guard : program.guards_code) bytes += sizeof guard + guard.size();
  if (bytes <= limits.max_guard_bytes) return {};
  return Error{ErrorCode::limit,
               fmt::format("{} bytes of guards, expected at most {} (max_guard_bytes)", bytes,
                           limits.max_guard_bytes),
               ".guards_code"};
}

const Member& find_member(const Type& type, std::string_view name) {
  return *std::ranges::find(type.members, name, &Member::name);
}

}  // namespace

Result<void> decode_into(const Type& type, void* out, std::string_view json, const Limits& limits,
                         Diagnostics& warnings) {
  // The record around a value keeps its unusual spelling, so only records can be decoded
  // separately.
  if (type.kind != Kind::record)
    return Error{ErrorCode::argument,
                 fmt::format("found the type {}, expected one with fields", type_text(type)), ""};
  PT2_TRY(const Profile profile, find_profile(type, json, limits, warnings));
  PT2_TRY_VOID(Decoder(profile, limits, json.size(), warnings).decode(type, out, json));
  if (&type == &type_of<ExportedProgram>())
    PT2_TRY_VOID(check_program(*static_cast<const ExportedProgram*>(out), limits));
  note_observed(profile, *type.trace(out));
  return {};
}

Result<ExportedProgram> decode_program(std::string_view json, const Limits& limits,
                                       Diagnostics& warnings) {
  return decode<ExportedProgram>(json, limits, warnings);
}

struct PieceReader::State {
  State(Pieces split, const Profile& profile, const Limits& given, size_t json_bytes,
        Release released)
      : pieces(std::move(split)),
        limits(given),
        decoder(profile, limits, json_bytes, warnings),
        release(std::move(released)) {}

  template <class Table>
  Result<Table> next(std::vector<std::string_view>& from, size_t& place, std::string_view member) {
    Table table;
    if (place == from.size()) return table;
    const std::string_view text = from[place++];
    const size_t known = warnings.all().size();
    // The tables are in .graph_module.graph.
    constexpr uint32_t kTableDepth = 4;
    PT2_TRY_VOID(decoder.decode_elements(*find_member(type_of<Graph>(), member).type, &table, text,
                                         kTableDepth));
    // The finding's place would be relative to the piece.
    if (warnings.all().size() != known) return malformed("a finding");
    if (release) release(text);
    return table;
  }

  Pieces pieces;
  Limits limits;  // referenced by the decoder
  Diagnostics warnings;
  Decoder decoder;
  Release release;
  ExportedProgram outline;
  size_t next_values = 0;
  size_t next_nodes = 0;
};

PieceReader::PieceReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
PieceReader::~PieceReader() = default;

std::unique_ptr<PieceReader> PieceReader::open(std::string_view json, const Limits& limits,
                                               size_t piece_bytes, Release release) {
  if (json.size() <= piece_bytes) return nullptr;
  const Type& type = type_of<ExportedProgram>();
  Diagnostics warnings;
  const auto profile = find_profile(type, json, limits, warnings);
  if (!profile || profile->version < 200) return nullptr;
  auto pieces = split_program(json, piece_bytes);
  if (!pieces) return nullptr;
  auto state = std::make_unique<State>(*std::move(pieces), *profile, limits, json.size(),
                                       std::move(release));
  state->warnings = std::move(warnings);
  const std::string outline = std::move(state->pieces.outline);
  if (!state->decoder.decode(type, &state->outline, outline) ||
      !check_program(state->outline, limits))
    return nullptr;
  // Expanding a graph's table of stack traces needs all nodes at once.
  if (!state->outline.graph_module.graph.co_fileinfo_ordered_list.empty()) return nullptr;
  note_observed(*profile, state->outline.trace);
  return std::unique_ptr<PieceReader>(new PieceReader(std::move(state)));
}

ExportedProgram PieceReader::take_outline() { return std::move(state_->outline); }

Result<Dict<TensorMeta>> PieceReader::next_values() {
  return state_->next<Dict<TensorMeta>>(state_->pieces.tensor_values, state_->next_values,
                                        "tensor_values");
}

Result<List<Node>> PieceReader::next_nodes() {
  return state_->next<List<Node>>(state_->pieces.nodes, state_->next_nodes, "nodes");
}

const Diagnostics& PieceReader::warnings() const { return state_->warnings; }

}  // namespace pt2::schema
