#include "schema/encode.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/hash/text_hash.h"
#include "pt2/format/schema_json.h"
#include "schema/path.h"
#include "schema/pieces.h"
#include "schema/trace.h"
#include "schema/type.h"

namespace pt2::schema {
namespace {

// Enumerators are int64_t too, but aliasing rules forbid a read through a pointer to int64_t.
int64_t load_int(const void* value) {
  int64_t number = 0;
  std::memcpy(&number, value, sizeof number);
  return number;
}

// Spellings by path.
using Spellings = TextMap<std::string_view, const Trace::Spelling*>;

class Encoder {
 public:
  Encoder(const Profile& profile, JsonStyle style)
      : profile_(profile), writer_(style, !profile.raw_utf8) {}

  std::string take() { return writer_.take(); }

  void write(const Type& type, const void* value) {
    if (spellings_ && write_as_spelled(type, value)) return;
    switch (type.kind) {
      case Kind::none:
        return writer_.raw(profile_.none_is_list ? "[]" : "true");
      case Kind::boolean:
        return writer_.boolean(as<bool>(value));
      case Kind::integer:
      case Kind::enumeration:
        return writer_.integer(load_int(value));
      case Kind::number:
        return write_number(as<double>(value));
      case Kind::string:
        return writer_.string(as<std::string>(value));
      case Kind::json:
        return writer_.raw(as<Json>(value).text);
      case Kind::optional:
        return type.size(value) ? write(*type.element, type.at(value)) : writer_.null();
      case Kind::box:
        return write(*type.element, type.at(value));
      case Kind::list:
        return write_list(type, value);
      case Kind::dict:
        return write_dict(type, value);
      case Kind::record:
        return write_record(type, value);
      case Kind::variant:
        return write_variant(type, value);
    }
  }

 private:
  // Writes the file's own spelling, if the value is still the same.
  bool write_as_spelled(const Type& type, const void* value) {
    const auto found = spellings_->find(path_);
    if (found == spellings_->end()) return false;
    const Trace::Spelling& spelling = *found->second;
    const Profile usual = profile_of(profile_.version);
    if (encode_as(type, value, usual, JsonStyle::python) != spelling.usual) return false;
    writer_.raw(spelling.spelled);
    return true;
  }

  void write_number(double value) {
    if (std::isfinite(value) || !profile_.quotes_non_finite) return writer_.number(value);
    writer_.string(print_float(value, NonFinite::json));
  }

  void write_list(const Type& type, const void* value) {
    writer_.begin_array();
    const size_t count = type.size(value);
    for (size_t i = 0; i < count; ++i) {
      const size_t mark = path_.size();
      if (spellings_) append_index_step(path_, i);
      write(*type.element, type.at(value, i));
      path_.resize(mark);
    }
    writer_.end_array();
  }

  void write_dict(const Type& type, const void* value) {
    writer_.begin_object();
    const size_t count = type.size(value);
    for (size_t i = 0; i < count; ++i) {
      writer_.key(type.key(value, i));
      write_below(type.key(value, i), *type.element, type.at(value, i));
    }
    writer_.end_object();
  }

  void write_below(std::string_view step, const Type& type, const void* value) {
    const size_t mark = path_.size();
    if (spellings_) append_key_step(path_, step);
    write(type, value);
    path_.resize(mark);
  }

  void write_record(const Type& type, const void* value) {
    if (&type == &type_of<SchemaVersion>() && profile_.plain_version) {
      return writer_.integer(as<SchemaVersion>(value).major);
    }
    const Spellings* outer_spellings = std::exchange(spellings_, nullptr);
    std::string outer_path = std::exchange(path_, {});
    const Trace* trace = type.trace_of(value);
    Spellings spellings;
    if (trace && !trace->spellings.empty()) {
      for (const Trace::Spelling& each : trace->spellings) spellings.emplace(each.path, &each);
      spellings_ = &spellings;
    }
    writer_.begin_object();
    if (trace && !trace->fields.empty()) {
      write_traced_fields(type, value, *trace);
    } else {
      for (size_t i = 0; i < type.members.size(); i = type.members[i].key_end) {
        if (is_usual(type, value, i)) write_field(type, value, i);
      }
    }
    writer_.end_object();
    spellings_ = outer_spellings;
    path_ = std::move(outer_path);
  }

  void write_traced_fields(const Type& type, const void* value, const Trace& trace) {
    uint64_t written = 0;
    for (const Trace::Field& field : trace.fields) {
      writer_.raw_key(field.key);
      if (field.member < 0) {
        writer_.raw(field.json);
        continue;
      }
      written |= uint64_t{1} << field.member;
      write_member_value(type, value, static_cast<size_t>(field.member));
    }
    for (size_t i = 0; i < type.members.size(); i = type.members[i].key_end) {
      const bool has_value = chosen(type, value, i).second;
      if (!(written >> i & 1) && has_value) write_field(type, value, i);
    }
  }

  void write_field(const Type& type, const void* value, size_t first) {
    writer_.raw_key(type.members[first].key);
    write_member_value(type, value, first);
  }

  void write_member_value(const Type& type, const void* value, size_t first) {
    const Member& member = *chosen(type, value, first).first;
    write_below(member.key, *member.type, get_member(member, value));
  }

  // Chooses among the members that share a key: a member with a value, preferably of this version.
  // The bool is true if the chosen member has a value.
  std::pair<const Member*, bool> chosen(const Type& type, const void* value, size_t first) const {
    const auto candidates = type.members.subspan(first, type.members[first].key_end - first);
    const Member* best = nullptr;
    for (const bool in_version : {true, false}) {
      for (const Member& member : candidates) {
        if (member.is_in(profile_.version) != in_version) continue;
        if (is_set(member, value)) return {&member, true};
        if (!best) best = &member;
      }
    }
    return {best, false};
  }

  // True if PyTorch's writer of this version writes the key of members[first].
  bool is_usual(const Type& type, const void* value, size_t first) const {
    bool expected = false;
    for (size_t i = first; i < type.members[first].key_end; ++i) {
      const Member& member = type.members[i];
      const bool needs_value = member.presence == Presence::unreleased ||
                               (member.presence == Presence::optional && profile_.omits_null);
      expected |= member.is_in(profile_.version) && !needs_value;
    }
    return expected || chosen(type, value, first).second;
  }

  void write_variant(const Type& type, const void* value) {
    writer_.begin_object();
    if (type.is_unknown(value)) {
      const UnknownAlternative& unknown = unknown_of(type, value);
      writer_.key(unknown.tag);
      writer_.raw(unknown.value.text);
    } else {
      const Member& held = type.members[type.size(value)];
      switch (profile_.unions) {
        case UnionSpelling::single_key:
          writer_.raw_key(held.key);
          write_below(held.key, *held.type, type.at(value));
          break;
        case UnionSpelling::type_and_value:
          writer_.key("$type");
          writer_.string(held.key);
          writer_.key("$value");
          write_below(held.key, *held.type, type.at(value));
          break;
        case UnionSpelling::all_alternatives:
          write_all_alternatives(type, value, held);
          break;
      }
    }
    writer_.end_object();
  }

  void write_all_alternatives(const Type& type, const void* value, const Member& held) {
    for (const Member& member : type.members) {
      if (!member.is_in(profile_.version) && &member != &held) continue;
      writer_.raw_key(member.key);
      if (&member == &held) {
        write_below(held.key, *held.type, type.at(value));
      } else {
        writer_.null();
      }
    }
  }

  Profile profile_;
  JsonWriter writer_;
  const Spellings* spellings_ = nullptr;  // of the enclosing record, if it has any
  std::string path_;                      // relative to that record
};

// Compares a default that schema.def spells out as text. Any other default is the empty value of
// its type.
bool is_default(const Member& member, const void* value) {
  return encode_as(*member.type, value, profile_of(kNewestVersion), JsonStyle::python) ==
         member.default_json;
}

// Returns the spelling of the program's whole file.
Profile file_profile(const Type& type, const void* value, int version) {
  Profile profile = profile_of(version);
  if (const Trace* trace = type.kind == Kind::record ? type.trace_of(value) : nullptr) {
    profile.compact = trace->compact;
    profile.raw_utf8 = trace->raw_utf8;
  }
  return profile;
}

// As in decoding, a missing version means the newest version.
int version_of(const SchemaVersion& version) {
  return version.major == 0 ? kNewestVersion : version_number(version);
}

int version_of(const Type& type, const void* value) {
  if (&type == &type_of<ExportedProgram>())
    return version_of(as<ExportedProgram>(value).schema_version);
  if (&type == &type_of<Program>()) {
    const auto& methods = as<Program>(value).methods;
    return methods.empty() ? 806 : version_of(methods[0].second.schema_version);
  }
  if (&type == &type_of<Model>()) {
    const auto& model = as<Model>(value);
    if (!model.program_methods.methods.empty())
      return version_of(type_of<Program>(), &model.program_methods);
    return version_of(model.program.schema_version);
  }
  return kNewestVersion;
}

}  // namespace

bool is_set(const Member& member, const void* owner) {
  const void* value = get_member(member, owner);
  if (!member.default_json.empty()) return !is_default(member, value);
  switch (member.type->kind) {
    case Kind::optional:
    case Kind::list:
    case Kind::dict:
      return member.type->size(value) != 0;
    case Kind::string:
      return !as<std::string>(value).empty();
    default:
      return false;
  }
}

std::string encode_as(const Type& type, const void* value, const Profile& profile,
                      JsonStyle style) {
  Encoder encoder(profile, style);
  encoder.write(type, value);
  return encoder.take();
}

std::string encode_value(const Type& type, const void* value, Print print) {
  const Profile profile = file_profile(type, value, version_of(type, value));
  if (print == Print::pretty) return encode_as(type, value, profile, JsonStyle::pretty);
  return encode_as(type, value, profile, profile.compact ? JsonStyle::compact : JsonStyle::python);
}

std::optional<std::string> encode_in_pieces(PieceReader& reader) {
  const Type& type = type_of<ExportedProgram>();
  const ExportedProgram program = reader.take_outline();
  const Profile profile = file_profile(type, &program, version_of(type, &program));
  const JsonStyle style = profile.compact ? JsonStyle::compact : JsonStyle::python;
  const std::string outline = encode_as(type, &program, profile, style);
  const auto places = split_program(outline, SIZE_MAX);
  if (!places || places->nodes_at == outline.npos || places->tensor_values_at == outline.npos)
    return std::nullopt;

  std::string out;
  const auto add_table = [&](std::string_view name, auto&& next) {
    const auto member = std::ranges::find(type_of<Graph>().members, name, &Member::name);
    for (std::string_view separator = "";;) {
      const auto table = next();
      if (!table) return false;
      if (table->empty()) return true;
      const std::string text = encode_as(*member->type, &*table, profile, style);
      out += separator;
      out.append(text, 1, text.size() - 2);  // without the brackets
      separator = profile.compact ? "," : ", ";
    }
  };
  const auto add_nodes = [&] { return add_table("nodes", [&] { return reader.next_nodes(); }); };
  const auto add_values = [&] {
    return add_table("tensor_values", [&] { return reader.next_values(); });
  };
  const bool nodes_first = places->nodes_at < places->tensor_values_at;
  const auto [first, second] = std::minmax(places->nodes_at, places->tensor_values_at);
  out.append(outline, 0, first);
  if (!(nodes_first ? add_nodes() : add_values())) return std::nullopt;
  out.append(outline, first, second - first);
  if (!(nodes_first ? add_values() : add_nodes())) return std::nullopt;
  out.append(outline, second);
  return out;
}

std::string encode_program(const ExportedProgram& program) {
  return encode_value(type_of<ExportedProgram>(), &program, Print::as_read);
}

std::string encode_program_pretty(const ExportedProgram& program) {
  return encode_value(type_of<ExportedProgram>(), &program, Print::pretty);
}

}  // namespace pt2::schema
