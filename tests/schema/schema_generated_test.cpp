// Every value that a writer of some version could have written is decoded without a finding to an
// equal value, which is encoded to the same bytes.
#include <gtest/gtest.h>

#include "pt2/format/schema_json.h"
#include "schema/generate.h"

namespace pt2::schema {
namespace {

TEST(SchemaGeneratedTest, EveryVersionComesBack) {
  size_t bytes = 0;
  for (const auto& [major, minor] : std::initializer_list<std::pair<int64_t, int64_t>>{{1, 0},
                                                                                       {2, 0},
                                                                                       {4, 2},
                                                                                       {5, 1},
                                                                                       {5, 3},
                                                                                       {7, 3},
                                                                                       {8, 1},
                                                                                       {8, 2},
                                                                                       {8, 4},
                                                                                       {8, 7},
                                                                                       {8, 8},
                                                                                       {8, 11},
                                                                                       {8, 14},
                                                                                       {8, 15},
                                                                                       {8, 17},
                                                                                       {8, 20}}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(testing::Message() << major << "." << minor << " seed " << seed);
      const ExportedProgram program = generate_program(seed, {.major = major, .minor = minor});
      const std::string text = encode(program);
      bytes += text.size();
      Diagnostics warnings;
      const auto again = decode_program(text, Limits{}, warnings);
      ASSERT_TRUE(again) << again.error().text();
      for (const Diagnostic& warning : warnings.all()) ADD_FAILURE() << warning.line();
      const auto differences = diff(program, *again);
      ASSERT_TRUE(differences.empty())
          << differences[0].path << ": " << differences[0].left << " -> " << differences[0].right;
      EXPECT_TRUE(equal(program, *again));
      EXPECT_EQ(hash(program), hash(*again));
      EXPECT_EQ(encode(*again), text);
    }
  }
  EXPECT_GT(bytes, 100000u);
}

}  // namespace
}  // namespace pt2::schema
