// Run-time descriptions of the schema's types, from schema.def. Code that walks a program (JSON,
// comparison, printing, documentation) uses Type, so it needs no templates and no code per type.
#ifndef PT2_SCHEMA_TYPE_H
#define PT2_SCHEMA_TYPE_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "pt2/format/schema.h"

namespace pt2::schema {

struct Type;

enum class Presence : uint8_t {
  required,
  optional,    // an Optional whose default is null
  defaulted,   // may be missing, but PyTorch always writes it
  unreleased,  // of a development snapshot: not expected in any file
};

inline constexpr int kForever = 1 << 30;

// A field of a record or an alternative of a variant.
struct Member {
  std::string_view name;
  std::string_view key;  // in the file; two members share a key whose type changed
  const Type* type;
  void* (*get)(void* owner);  // records only
  int id;
  int since;
  int until;
  Presence presence;
  std::string_view default_json;  // empty: the empty value of the type
  size_t key_end = 0;  // members from the first with this key up to here (exclusive) share the key

  bool is_in(int version) const { return since <= version && version <= until; }
};

struct EnumValue {
  std::string_view name;
  int64_t value;
  int since;
};

enum class Kind : uint8_t {
  none,
  boolean,
  integer,
  number,
  string,
  json,
  enumeration,
  optional,
  box,
  list,
  dict,
  record,
  variant,
};

struct Type {
  Kind kind;
  std::string_view name;
  int ordinal = -1;                        // record, variant: its index in all_types()
  size_t bytes = 0;                        // sizeof
  const Type* element = nullptr;           // optional, box, list, dict
  std::span<const Member> members = {};    // record, variant
  std::span<const EnumValue> values = {};  // enumeration
  // optional: 0 or 1; list, dict: count; variant: index of the alternative, members.size() for an
  // unknown alternative.
  size_t (*size)(const void*) = nullptr;
  // optional, box: the value (i = 0); list, dict: element i; variant: the value of the current
  // alternative.
  void* (*element_at)(void*, size_t i) = nullptr;
  // optional: creates a value; list: appends a value; dict: appends a value under *key, which is
  // moved from; variant: switches to alternative i.
  void* (*add)(void*, std::string* key, size_t i) = nullptr;
  std::string_view (*key)(const void*, size_t i) = nullptr;  // dict
  TraceHolder* (*trace)(void*) = nullptr;                    // record

  void* at(void* value, size_t i = 0) const { return element_at(value, i); }
  const void* at(const void* value, size_t i = 0) const {
    return element_at(const_cast<void*>(value), i);
  }
  const Trace* trace_of(const void* value) const { return trace(const_cast<void*>(value))->get(); }
  bool is_unknown(const void* value) const { return size(value) == members.size(); }
};

inline const void* get_member(const Member& member, const void* owner) {
  return member.get(const_cast<void*>(owner));
}

// Requires a variant with is_unknown.
inline const UnknownAlternative& unknown_of(const Type& type, const void* value) {
  return **static_cast<const UnknownCase*>(type.at(value));
}

// Returns every record and variant, in the order of schema.def.
std::span<const Type* const> types();
// Returns types(), followed by the types of draft.def. A type's ordinal is its index here.
std::span<const Type* const> all_types();
bool is_of_draft(const Type& type);
std::span<const Type* const> enumerations();
// Returns "List[Dict[str]]": PyTorch's spelling of types.
std::string type_text(const Type& type);

// Returns the value of a type that describes T.
template <class T>
const T& as(const void* value) {
  return *static_cast<const T*>(value);
}

template <class T>
const Type& type_of();

}  // namespace pt2::schema

#endif  // PT2_SCHEMA_TYPE_H
