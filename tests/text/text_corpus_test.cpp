// Every program of real files is printed as text and parsed back to the same bytes.
#include <gtest/gtest.h>

#include "package/corpus.h"
#include "pt2/format/archive.h"
#include "text/round_trip.h"

namespace pt2 {
namespace {

// The text without metadata gives the same program without metadata.
void expect_same_without_metadata(Program program) {
  const std::string text = print_program(program);
  std::vector<Error> errors;
  const Result<Program> again = parse_program(text, "text", errors);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(print_program(*again), text);
}

// The same with tables of stack traces, which development snapshots of 5.3 wrote.
void expect_same_with_tables(Program program) {
  compact_stack_traces(program.graph);
  const auto compact = test::read_program(test::json_of(program));
  ASSERT_TRUE(compact) << compact.error().text();
  EXPECT_EQ(test::round_trip_fault(*compact), "");
}

TEST(TextCorpus, ProgramsComeBackByteForByte) {
  size_t count = 0;
  for (const corpus::File& file : corpus::files()) {
    const auto archive = Archive::open(file.path);
    ASSERT_TRUE(archive) << archive.error().text();
    for (const std::string& model : archive->models()) {
      SCOPED_TRACE(file.path + " " + model);
      const auto record = archive->read(archive->program_record(model));
      ASSERT_TRUE(record) << record.error().text();
      auto program = test::read_program(record->text());
      ASSERT_TRUE(program) << program.error().text();
      EXPECT_EQ(test::round_trip_fault(*program), "");
      EXPECT_EQ(test::json_of(*program), record->text());
      if (program->schema_version == SchemaVersion{5, 3}) expect_same_with_tables(*program);
      expect_same_without_metadata(*std::move(program));
      ++count;
    }
  }
  std::printf("%zu programs\n", count);
  EXPECT_GT(count, 100u);
}

}  // namespace
}  // namespace pt2
