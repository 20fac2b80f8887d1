// Every program and payload config of real files is decoded into typed structures and encoded to
// the same bytes. The structures keep no text, and an edit changes the text only at its place.
#include <gtest/gtest.h>

#include <functional>

#include "package/corpus.h"
#include "pt2/format/archive.h"
#include "pt2/format/schema_json.h"
#include "schema/type.h"

namespace pt2 {
namespace {

using schema::Kind;

// Returns the number of values inside this one that carry a trace of their file.
size_t count_traces(const schema::Type& type, const void* value) {
  size_t count = 0;
  switch (type.kind) {
    case Kind::optional:
    case Kind::list:
    case Kind::dict:
      for (size_t i = 0; i < type.size(value); ++i)
        count += count_traces(*type.element, type.at(value, i));
      return count;
    case Kind::box:
      return count_traces(*type.element, type.at(value));
    case Kind::record:
      for (const schema::Member& member : type.members) {
        count += count_traces(*member.type, schema::get_member(member, value));
      }
      return count + (type.trace_of(value) != nullptr);
    case Kind::variant:
      if (type.is_unknown(value)) return 0;
      return count_traces(*type.members[type.size(value)].type, type.at(value));
    default:
      return 0;
  }
}

void for_each_record(Role role, const std::function<void(std::string_view json)>& visit) {
  for (const corpus::File& file : corpus::files()) {
    const auto archive = Archive::open(file.path);
    ASSERT_TRUE(archive) << archive.error().text();
    for (const Entry& entry : archive->zip().entries()) {
      if (archive->role(entry).role != role) continue;
      SCOPED_TRACE(file.path + " " + std::string(entry.name));
      const auto record = archive->read(archive->relative_name(entry));
      ASSERT_TRUE(record) << record.error().text();
      visit(record->text());
    }
  }
}

template <class T>
void expect_same_bytes(std::string_view json) {
  Diagnostics warnings;
  const auto value = schema::decode<T>(json, Limits{}, warnings);
  ASSERT_TRUE(value) << value.error().text();
  for (const Diagnostic& warning : warnings.all()) ADD_FAILURE() << warning.line();
  EXPECT_TRUE(schema::encode(*value) == json);
  EXPECT_EQ(count_traces(schema::type_of<T>(), &*value), 0u);
  Diagnostics again;
  EXPECT_TRUE(schema::equal(*value, *schema::decode<T>(schema::encode(*value), Limits{}, again)));
}

TEST(SchemaCorpus, ProgramsComeBackByteForByte) {
  size_t count = 0;
  for_each_record(Role::program, [&](std::string_view json) {
    expect_same_bytes<schema::ExportedProgram>(json);
    ++count;
  });
  EXPECT_GT(count, 100u);
}

TEST(SchemaCorpus, PayloadConfigsComeBackByteForByte) {
  size_t count = 0;
  for (const Role role : {Role::weights_config, Role::constants_config}) {
    for_each_record(role, [&](std::string_view json) {
      expect_same_bytes<schema::PayloadConfig>(json);
      ++count;
    });
  }
  EXPECT_GT(count, 50u);
}

TEST(SchemaCorpus, AnEditChangesItsPlaceAlone) {
  for_each_record(Role::program, [](std::string_view json) {
    Diagnostics warnings;
    auto program = schema::decode_program(json, Limits{}, warnings);
    ASSERT_TRUE(program) << program.error().text();
    auto& nodes = program->graph_module.graph.nodes;
    if (nodes.empty()) return;
    const std::string mark = "_edited";
    nodes.back().target += mark;
    const std::string after = schema::encode_program(*program);
    const size_t place = after.find(mark);
    ASSERT_NE(place, std::string::npos);
    EXPECT_TRUE(std::string(after).erase(place, mark.size()) == json);
  });
}

}  // namespace
}  // namespace pt2
