// The only file that instantiates anything per type of the schema.
#include "schema/type.h"

#include <array>

#include "schema/trace.h"

namespace pt2::schema {
namespace {

template <class T>
struct TypeOf {
  static const Type value;
};
template <class T>
struct Facts;  // of each record, variant and enumeration: name, and members or values

enum Ordinal : int {
#define PT2_STRUCT(Name) Name##_ordinal,
#define PT2_UNION(Name) Name##_ordinal,
#include "pt2/schema.def"
};

// clang-format off
#define PT2_STRUCT(Name) constexpr size_t Name##_count = 0
#define PT2_REQ(...) + 1
#define PT2_OPT(...) + 1
#define PT2_DEF(...) + 1
#define PT2_OLD(...) + 1
#define PT2_END_STRUCT(Name) ;
#define PT2_UNION(Name) constexpr size_t Name##_count = 0
#define PT2_CASE(...) + 1
#define PT2_OLD_CASE(...) + 1
#define PT2_END_UNION(Name) ;
#include "pt2/schema.def"

template <size_t count>
consteval std::array<Member, count> with_key_ends(std::array<Member, count> members) {
  for (size_t i = 0; i < count; ++i) {
    members[i].key_end = i + 1;
    while (members[i].key_end < count && members[members[i].key_end].key == members[i].key) ++members[i].key_end;
  }
  return members;
}

#define PT2_FACTS(Name) \
  template <> struct Facts<Name> { \
    using Self = Name; \
    static constexpr std::string_view name = #Name; \
    static constexpr int ordinal = Name##_ordinal; \
    static const std::array<Member, Name##_count> members; \
  }; \
  constinit const std::array<Member, Name##_count> Facts<Name>::members = with_key_ends<Name##_count>({{
#define PT2_FIELD(id, since, until, presence, name, key, default_json) \
  {#name, #key, &TypeOf<decltype(Self::name)>::value, \
   [](void* owner) -> void* { return &static_cast<Self*>(owner)->name; }, \
   id, since, until, Presence::presence, default_json},
#define PT2_ALTERNATIVE(id, since, until, T, name, key) \
  {#name, #key, &TypeOf<T>::value, nullptr, id, since, until, Presence::required, {}},

#define PT2_ENUM(Name) \
  template <> struct Facts<Name> { \
    static constexpr std::string_view name = #Name; \
    static constexpr EnumValue values[] = {
#define PT2_VALUE(since, name, number) {#name, number, since},
#define PT2_END_ENUM(Name) }; };
#define PT2_STRUCT(Name) PT2_FACTS(Name)
#define PT2_REQ(id, since, T, name) PT2_FIELD(id, since, kForever, required, name, name, {})
#define PT2_OPT(id, since, T, name) PT2_FIELD(id, since, kForever, optional, name, name, {})
#define PT2_DEF(id, since, T, name, ...) PT2_FIELD(id, since, kForever, defaulted, name, name, #__VA_ARGS__)
#define PT2_OLD(id, since, until, presence, T, name, key) PT2_FIELD(id, since, until, presence, name, key, {})
#define PT2_END_STRUCT(Name) }});
#define PT2_UNION(Name) PT2_FACTS(Name)
#define PT2_CASE(id, since, T, name) PT2_ALTERNATIVE(id, since, kForever, T, name, name)
#define PT2_OLD_CASE(id, since, until, T, name, key) PT2_ALTERNATIVE(id, since, until, T, name, key)
#define PT2_END_UNION(Name) }});
#include "pt2/schema.def"
#undef PT2_FACTS
#undef PT2_FIELD
#undef PT2_ALTERNATIVE
// clang-format on

template <class T, template <class...> class C>
inline constexpr bool is = false;
template <class... A, template <class...> class C>
inline constexpr bool is<C<A...>, C> = true;

template <class T>
constexpr Type describe_scalar() {
  if constexpr (std::is_same_v<T, None>) return {.kind = Kind::none, .name = "None"};
  if constexpr (std::is_same_v<T, Bool> || std::is_same_v<T, Flag>)
    return {.kind = Kind::boolean, .name = "bool"};
  if constexpr (std::is_same_v<T, Int>) return {.kind = Kind::integer, .name = "int"};
  if constexpr (std::is_same_v<T, Float>) return {.kind = Kind::number, .name = "float"};
  if constexpr (std::is_same_v<T, String>) return {.kind = Kind::string, .name = "str"};
  if constexpr (std::is_same_v<T, Json>) return {.kind = Kind::json, .name = "json"};
}

template <class T>
constexpr Type describe_optional() {
  return {
      .kind = Kind::optional,
      .name = "Optional",
      .element = &TypeOf<typename T::value_type>::value,
      .size =
          [](const void* p) { return static_cast<size_t>(static_cast<const T*>(p)->has_value()); },
      .element_at = [](void* p, size_t) -> void* { return &**static_cast<T*>(p); },
      .add = [](void* p, std::string*, size_t) -> void* { return &static_cast<T*>(p)->emplace(); }};
}

template <class T>
constexpr Type describe_box() {
  using Element = std::remove_cvref_t<decltype(*std::declval<T&>())>;
  return {.kind = Kind::box,
          .name = "Box",
          .element = &TypeOf<Element>::value,
          .element_at = [](void* p, size_t) -> void* { return &**static_cast<T*>(p); }};
}

// Sizes, strides and arguments of a node: reserving saves two moves of each element, a tenth of the
// time to decode.
constexpr size_t kUsualListSize = 4;

template <class T>
constexpr Type describe_list() {
  return {.kind = Kind::list,
          .name = "List",
          .element = &TypeOf<typename T::value_type>::value,
          .size = [](const void* p) { return static_cast<const T*>(p)->size(); },
          .element_at = [](void* p, size_t i) -> void* { return &(*static_cast<T*>(p))[i]; },
          .add = [](void* p, std::string*, size_t) -> void* {
            T& list = *static_cast<T*>(p);
            if (list.capacity() == 0) list.reserve(kUsualListSize);
            return &list.emplace_back();
          }};
}

template <class T>
constexpr Type describe_dict() {
  return {.kind = Kind::dict,
          .name = "Dict",
          .element = &TypeOf<typename T::value_type::second_type>::value,
          .size = [](const void* p) { return static_cast<const T*>(p)->size(); },
          .element_at = [](void* p, size_t i) -> void* { return &(*static_cast<T*>(p))[i].second; },
          .add = [](void* p, std::string* key, size_t) -> void* {
            auto& entry = static_cast<T*>(p)->emplace_back();
            entry.first = std::move(*key);
            return &entry.second;
          },
          .key = [](const void* p, size_t i) -> std::string_view {
            return (*static_cast<const T*>(p))[i].first;
          }};
}

template <class T>
constexpr Type describe_record() {
  return {.kind = Kind::record,
          .name = Facts<T>::name,
          .ordinal = Facts<T>::ordinal,
          .members = Facts<T>::members,
          .trace = [](void* p) { return &static_cast<T*>(p)->trace; }};
}

template <class T, size_t... I>
void* emplace_alternative(T& variant, size_t which, std::index_sequence<I...>) {
  void* value = nullptr;
  ((I == which ? void(value = &variant.template emplace<I>()) : void()), ...);
  return value;
}

template <class T>
constexpr Type describe_variant() {
  using Variant = std::remove_reference_t<decltype(std::declval<T&>().variant())>;
  return {.kind = Kind::variant,
          .name = Facts<T>::name,
          .ordinal = Facts<T>::ordinal,
          .members = Facts<T>::members,
          .size = [](const void* p) { return static_cast<const T*>(p)->variant().index(); },
          .element_at =
              [](void* p, size_t) {
                return std::visit([](auto& value) -> void* { return &value; },
                                  static_cast<T*>(p)->variant());
              },
          .add = [](void* p, std::string*, size_t i) -> void* {
            constexpr auto indices = std::make_index_sequence<std::variant_size_v<Variant>>();
            return emplace_alternative(static_cast<T*>(p)->variant(), i, indices);
          }};
}

template <class T>
constexpr Type describe() {
  if constexpr (std::is_enum_v<T>) {
    return {.kind = Kind::enumeration, .name = Facts<T>::name, .values = Facts<T>::values};
  } else if constexpr (is<T, std::optional>) {
    return describe_optional<T>();
  } else if constexpr (is<T, Box>) {
    return describe_box<T>();
  } else if constexpr (is<T, Dict>) {
    return describe_dict<T>();
  } else if constexpr (is<T, std::vector>) {
    return describe_list<T>();
  } else if constexpr (requires(T value) { value.trace; }) {
    return describe_record<T>();
  } else if constexpr (requires(T value) { value.variant(); }) {
    return describe_variant<T>();
  } else {
    return describe_scalar<T>();
  }
}

template <class T>
constinit const Type TypeOf<T>::value = describe<T>();

constinit const Type* const kTypes[] = {
#define PT2_STRUCT(Name) &TypeOf<Name>::value,
#define PT2_UNION(Name) &TypeOf<Name>::value,
#include "pt2/schema.def"
};

constinit const Type* const kEnumerations[] = {
#define PT2_ENUM(Name) &TypeOf<Name>::value,
#include "pt2/schema.def"
};

}  // namespace

std::span<const Type* const> types() { return kTypes; }
std::span<const Type* const> enumerations() { return kEnumerations; }

const Type* find_type(std::string_view name) {
  for (const Type* type : kTypes) {
    if (type->name == name) return type;
  }
  return nullptr;
}

std::string type_text(const Type& type) {
  if (type.kind == Kind::box) return type_text(*type.element);
  std::string text(type.name);
  if (type.element) text += "[" + type_text(*type.element) + "]";
  return text;
}

// clang-format off
#define PT2_STRUCT(Name) template <> const Type& type_of<Name>() { return TypeOf<Name>::value; }
#define PT2_UNION(Name) template <> const Type& type_of<Name>() { return TypeOf<Name>::value; }
#include "pt2/schema.def"
// clang-format on

}  // namespace pt2::schema
