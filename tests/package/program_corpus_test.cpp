// Every program of real files is converted to pt2::Program and back to the same bytes.
#include <gtest/gtest.h>

#include "package/corpus.h"
#include "pt2/format/archive.h"
#include "pt2/format/schema_json.h"
#include "serde/from_schema.h"
#include "serde/to_schema.h"

namespace pt2 {
namespace {

void expect_same_program(std::string_view json) {
  Diagnostics warnings;
  auto source = schema::decode_program(json, Limits{}, warnings);
  ASSERT_TRUE(source) << source.error().text();
  const schema::ExportedProgram before = *source;
  const auto program = from_schema(*std::move(source));
  ASSERT_TRUE(program) << program.error().text();
  const schema::ExportedProgram after = to_schema(*program);
  for (const auto& difference : schema::diff(before, after)) {
    ADD_FAILURE() << difference.path << ": " << difference.left << " -> " << difference.right;
  }
  EXPECT_TRUE(schema::encode_program(after) == json);
}

// Reads the program in pieces of one element each, and compares.
void expect_same_in_pieces(std::string_view json, size_t& count) {
  Diagnostics warnings, pieces_warnings;
  const auto source = schema::decode_program(json, Limits{}, warnings);
  const auto program = read_in_pieces(json, Limits{}, pieces_warnings, {}, NodeOrigins::whole, 1);
  if (!program) return;
  ++count;
  EXPECT_EQ(pieces_warnings.all().size(), warnings.all().size());
  EXPECT_TRUE(schema::encode_program(to_schema(*program)) == json);
  const auto reader = schema::PieceReader::open(json, Limits{}, 1, {});
  EXPECT_TRUE(schema::encode_in_pieces(*reader) == json);
}

TEST(ProgramCorpus, ProgramsComeBackByteForByte) {
  size_t count = 0, in_pieces = 0;
  for (const corpus::File& file : corpus::files()) {
    const auto archive = Archive::open(file.path);
    ASSERT_TRUE(archive) << archive.error().text();
    for (const std::string& model : archive->models()) {
      SCOPED_TRACE(file.path + " " + model);
      const auto record = archive->read(archive->program_record(model));
      ASSERT_TRUE(record) << record.error().text();
      expect_same_program(record->text());
      expect_same_in_pieces(record->text(), in_pieces);
      ++count;
    }
  }
  std::printf("%zu programs, %zu in pieces\n", count, in_pieces);
  EXPECT_GT(count, 100u);
  EXPECT_GT(in_pieces, count * 3 / 4);
}

}  // namespace
}  // namespace pt2
