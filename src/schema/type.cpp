// The only file that instantiates templates for each type of the schema and of its early draft.
#include "schema/type.h"

#include <array>

#include "pt2/format/draft_types.h"
#include "schema/trace.h"

namespace pt2::schema {
namespace {

template <class T>
struct TypeOf {
  static const Type value;
};
template <class T>
struct Facts;  // of each record, variant and enumeration: name, and members or values

template <class Union, auto which>
using AlternativeOf =
    std::variant_alternative_t<static_cast<size_t>(which),
                               std::remove_reference_t<decltype(std::declval<Union&>().variant())>>;

template <size_t count>
consteval std::array<Member, count> with_key_ends(std::array<Member, count> members) {
  for (size_t i = 0; i < count; ++i) {
    members[i].key_end = i + 1;
    while (members[i].key_end < count && members[members[i].key_end].key == members[i].key)
      ++members[i].key_end;
  }
  return members;
}

#define PT2_TABLE "pt2/format/schema.def"
#define PT2_IN pt2::schema
#define PT2_NAMES schema_names
#define PT2_FIRST_ORDINAL 0
#include "schema/type_table.def"

#define PT2_TABLE "pt2/format/draft.def"
#define PT2_IN draft
#define PT2_NAMES draft_names
#define PT2_FIRST_ORDINAL schema_names::end_ordinal
#include "schema/type_table.def"

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

// Enough for sizes, strides and arguments of a node. Reserving this capacity saves two moves of
// each element, a tenth of the decoding time.
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
constexpr Type describe_with_size() {
  Type type = describe<T>();
  type.bytes = sizeof(T);
  return type;
}

template <class T>
constinit const Type TypeOf<T>::value = describe_with_size<T>();

constinit const Type* const kTypes[] = {
#define PT2_STRUCT(Name) &TypeOf<Name>::value,
#define PT2_UNION(Name) &TypeOf<Name>::value,
#include "pt2/format/schema.def"
#define PT2_STRUCT(Name) &TypeOf<draft::Name>::value,
#define PT2_UNION(Name) &TypeOf<draft::Name>::value,
#include "pt2/format/draft.def"
};

constinit const Type* const kEnumerations[] = {
#define PT2_ENUM(Name) &TypeOf<Name>::value,
#include "pt2/format/schema.def"
};

}  // namespace

std::span<const Type* const> types() { return std::span(kTypes).first(schema_names::end_ordinal); }
std::span<const Type* const> all_types() { return kTypes; }
bool is_of_draft(const Type& type) { return type.ordinal >= schema_names::end_ordinal; }
std::span<const Type* const> enumerations() { return kEnumerations; }

std::string type_text(const Type& type) {
  if (type.kind == Kind::box) return type_text(*type.element);
  std::string text(type.name);
  if (type.element) text += "[" + type_text(*type.element) + "]";
  return text;
}

// clang-format off
template <class T>
const Type& type_of() {
  return TypeOf<T>::value;
}
#define PT2_STRUCT(Name) template const Type& type_of<Name>();
#define PT2_UNION(Name) template const Type& type_of<Name>();
#include "pt2/format/schema.def"
#define PT2_STRUCT(Name) template const Type& type_of<draft::Name>();
#define PT2_UNION(Name) template const Type& type_of<draft::Name>();
#include "pt2/format/draft.def"
// clang-format on

}  // namespace pt2::schema
