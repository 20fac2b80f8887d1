// Random values of any schema type, as a writer of a given version could have written them.
#ifndef PT2_TESTS_SCHEMA_GENERATE_H
#define PT2_TESTS_SCHEMA_GENERATE_H

#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "pt2/format/schema_json.h"
#include "schema/type.h"

namespace pt2::schema {

class Generator {
 public:
  Generator(uint64_t seed, int version) : random_(seed), version_(version) {}

  void fill(const Type& type, void* value, int depth) {
    switch (type.kind) {
      case Kind::none:
        return;
      case Kind::boolean:
        *static_cast<bool*>(value) = below(2) == 0;
        return;
      case Kind::integer:
        *static_cast<int64_t*>(value) = pick<int64_t>({0, 1, -1, 42, INT64_MAX, INT64_MIN});
        return;
      case Kind::number:
        *static_cast<double*>(value) =
            pick<double>({0.0, -0.0, 0.5, 1e300, 1e-5, -3.25, kInfinity, -kInfinity, kNan});
        return;
      case Kind::string:
        *static_cast<std::string*>(value) =
            pick<std::string>({"", "x", "a \"b\" \\ /", "line\nline\t\x01\x7f",
                               "n\xc3\xa4h \xf0\x9f\x98\x80", "a name of more than fifteen bytes"});
        return;
      case Kind::json:
        static_cast<Json*>(value)->text =
            pick<std::string>({"[1, 2.50]", "{\"a\": null}", "\"text\""});
        return;
      case Kind::enumeration:
        return fill_enumeration(type, value);
      case Kind::optional:
        if (below(2) == 0) fill(*type.element, type.add(value, nullptr, 0), depth);
        return;
      case Kind::box:
        return fill(*type.element, type.at(value), depth);
      case Kind::list:
      case Kind::dict:
        return fill_elements(type, value, depth);
      case Kind::record:
        for (size_t i = 0; i < type.members.size(); i = type.members[i].key_end)
          fill_member(type, value, i, depth);
        return;
      case Kind::variant:
        return fill_variant(type, value, depth);
    }
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

  size_t below(size_t bound) { return random_() % bound; }
  template <class T>
  T pick(std::initializer_list<T> values) {
    return *(values.begin() + below(values.size()));
  }

  void fill_enumeration(const Type& type, void* value) {
    const EnumValue* chosen = &type.values[0];
    for (const EnumValue& each : type.values) {
      if (each.since <= version_ && below(3) == 0) chosen = &each;
    }
    std::memcpy(value, &chosen->value, sizeof chosen->value);
  }

  void fill_elements(const Type& type, void* value, int depth) {
    const size_t count = depth > 0 ? below(4) : 0;
    for (size_t i = 0; i < count; ++i) {
      std::string key = (below(2) == 0 ? "k" : "2*s\"") + std::to_string(i);
      fill(*type.element, type.add(value, &key, 0), depth - 1);
    }
  }

  // Fills one of the members that share a key: the one of the version.
  void fill_member(const Type& type, void* value, size_t first, int depth) {
    for (size_t i = first; i < type.members[first].key_end; ++i) {
      const Member& member = type.members[i];
      if (member.is_in(version_)) return fill(*member.type, member.get(value), depth - 1);
    }
  }

  void fill_variant(const Type& type, void* value, int depth) {
    size_t which = 0;
    while (!type.members[which].is_in(version_)) ++which;
    for (size_t i = which; i < type.members.size(); ++i) {
      const bool deep = type.members[i].type->kind == Kind::record && depth <= 0;
      if (type.members[i].is_in(version_) && !deep && below(5) == 0) which = i;
    }
    fill(*type.members[which].type, type.add(value, nullptr, which), depth - 1);
  }

  std::mt19937_64 random_;
  int version_;
};

inline ExportedProgram generate_program(uint64_t seed, SchemaVersion version) {
  ExportedProgram program;
  constexpr int kDepth = 14;
  Generator(seed, version_number(version)).fill(type_of<ExportedProgram>(), &program, kDepth);
  program.schema_version = version;
  return program;
}

}  // namespace pt2::schema

#endif  // PT2_TESTS_SCHEMA_GENERATE_H
