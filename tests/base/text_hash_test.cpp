#include "base/hash/text_hash.h"

#include <gtest/gtest.h>

#include <string>
#include <unordered_set>

namespace pt2 {
namespace {

// libstdc++'s std::hash is equal for these. A hostile file can contain thousands of such texts.
constexpr std::string_view kOneBucket[] = {"6U2lenr9lUsmp&|3", "WQHo2j19^-4j]!BN",
                                           "CAkh8XgH}^za5RB{"};

TEST(TextHash, IsNotTheOneThatFilesKnow) {
  for (const uint64_t key : {0u, 1u, 77u}) {
    EXPECT_NE(hash_text(kOneBucket[0], key), hash_text(kOneBucket[1], key));
    EXPECT_NE(hash_text(kOneBucket[0], key), hash_text(kOneBucket[2], key));
    EXPECT_EQ(hash_text(kOneBucket[0], key), hash_text(std::string(kOneBucket[0]), key));
  }
}

TEST(TextHash, HasAKeyOfEachTablesOwn) {
  const TextHash one, other;
  EXPECT_NE(one("x"), other("x"));
  EXPECT_EQ(one("x"), TextHash(one)("x"));
}

TEST(TextHash, LooksAtEveryByte) {
  std::string text(20, 'a');
  std::unordered_set<uint64_t> seen;
  for (size_t size = 0; size <= text.size(); ++size)
    EXPECT_TRUE(seen.insert(hash_text(std::string_view(text).substr(0, size), 5)).second) << size;
  for (size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = 'b';
    EXPECT_TRUE(seen.insert(hash_text(changed, 5)).second) << i;
  }
}

}  // namespace
}  // namespace pt2
