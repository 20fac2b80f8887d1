// Compares schema.def with PyTorch's schema.py of two versions, and with schema.def's printed form.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "pt2/format/schema_json.h"
#include "read_file.h"
#include "schema/document.h"
#include "schema/type.h"

namespace pt2::schema {
namespace {

std::set<std::string> lines_of(const std::string& name) {
  std::istringstream text(test::read_file(std::string(PT2_TEST_DATA) + "/schema/" + name));
  std::set<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.insert(line);
  return lines;
}

// Returns a field's default as Python writes it.
std::string default_text(const Member& member) {
  if (member.presence == Presence::optional) return " = None";
  if (member.presence == Presence::required) return "";
  if (member.default_json == "false") return " = False";
  if (!member.default_json.empty()) return fmt::format(" = {}", member.default_json);
  return fmt::format(" = field(default_factory={})",
                     member.type->kind == Kind::dict ? "dict" : "list");
}

std::string python_type(const Type& type, int version) {
  if (type.kind == Kind::none && version >= 802) return "bool";
  return type_text(type);
}

// True if `member` is a second type of its key that occurs in files beside the declared type.
bool is_variant_form(const Type& type, const Member& member, int version) {
  return std::any_of(type.members.begin(), type.members.end(), [&](const Member& other) {
    return other.key == member.key && other.is_in(version) && other.name == other.key &&
           &other != &member;
  });
}

// Returns the table at one version, as lines in the form of tests/data/schema.
std::set<std::string> table_lines(int version) {
  std::set<std::string> lines;
  for (const Type* type : enumerations()) {
    for (const EnumValue& value : type->values) {
      if (value.since <= version)
        lines.insert(fmt::format("{} {} {}", type->name, value.name, value.value));
    }
  }
  for (const Type* type : types()) {
    for (const Member& member : type->members) {
      if (!member.is_in(version) || is_variant_form(*type, member, version)) continue;
      lines.insert(fmt::format("{} {} {} {}{}", type->name, member.key,
                               version < 802 ? 0 : member.id, python_type(*member.type, version),
                               default_text(member)));
    }
  }
  return lines;
}

std::vector<std::string> minus(const std::set<std::string>& left,
                               const std::set<std::string>& right) {
  std::vector<std::string> rest;
  std::set_difference(left.begin(), left.end(), right.begin(), right.end(),
                      std::back_inserter(rest));
  return rest;
}

TEST(SchemaTableTest, EqualsUpstreamsSchemaOf86) {
  const auto upstream = lines_of("schema_8.6.txt");
  ASSERT_EQ(upstream.size(), 184u);
  EXPECT_EQ(minus(upstream, table_lines(806)), std::vector<std::string>());
  EXPECT_EQ(minus(table_lines(806), upstream), std::vector<std::string>());
}

TEST(SchemaTableTest, EqualsUpstreamsSchemaOf53) {
  const auto upstream = lines_of("schema_5.3.txt");
  ASSERT_EQ(upstream.size(), 154u);
  // torch 2.1 to 2.5 declare the bounds as int but write Infinity.
  EXPECT_EQ(
      minus(upstream, table_lines(503)),
      (std::vector<std::string>{"RangeConstraint max_val 0 int", "RangeConstraint min_val 0 int"}));
  // The snapshot is older than torch 2.4, which added constant inputs under the same version.
  EXPECT_EQ(
      minus(table_lines(503), upstream),
      (std::vector<std::string>{
          "ConstantValue as_bool 0 bool", "ConstantValue as_float 0 float",
          "ConstantValue as_int 0 int", "ConstantValue as_none 0 None",
          "ConstantValue as_string 0 str", "InputSpec constant_input 0 InputToConstantInputSpec",
          "InputToConstantInputSpec name 0 str", "InputToConstantInputSpec value 0 ConstantValue",
          "RangeConstraint max_val 0 Optional[int]", "RangeConstraint min_val 0 Optional[int]"}));
}

TEST(SchemaTableTest, MembersThatShareAKeyStandTogether) {
  for (const Type* type : types()) {
    std::set<std::string_view> keys;
    for (size_t i = 0; i < type->members.size(); ++i) {
      const bool same_as_before = i > 0 && type->members[i].key == type->members[i - 1].key;
      EXPECT_EQ(keys.insert(type->members[i].key).second, !same_as_before) << type->name;
      EXPECT_LE(type->members[i].since, kNewestVersion) << type->name;
      EXPECT_LT(type->members[i].key.size(), 64u)
          << "the decoder compares keys within simdjson's padding";
    }
    EXPECT_LE(type->members.size(), 64u) << "the decoder keeps a bit for each";
  }
}

TEST(SchemaTableTest, TheReferencePageIsTheTable) {
  const std::string path = std::string(PT2_TEST_DATA) + "/../../docs/schema.md";
  if (std::getenv("PT2_REBASE")) std::ofstream(path, std::ios::binary) << document_types();
  EXPECT_EQ(test::read_file(path), document_types())
      << "run the test with PT2_REBASE=1 to write docs/schema.md anew";
}

}  // namespace
}  // namespace pt2::schema
