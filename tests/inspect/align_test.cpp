#include "inspect/align.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace pt2 {
namespace {

// Returns the length of a longest common subsequence, by dynamic programming.
size_t longest(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
  std::vector<std::vector<size_t>> table(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < b.size(); ++j)
      table[i + 1][j + 1] =
          a[i] == b[j] ? table[i][j] + 1 : std::max(table[i][j + 1], table[i + 1][j]);
  return table.back().back();
}

void expect_valid(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b,
                  const IndexPairs& pairs) {
  for (size_t i = 0; i < pairs.size(); ++i) {
    EXPECT_EQ(a[pairs[i].first], b[pairs[i].second]);
    if (i == 0) continue;
    EXPECT_LT(pairs[i - 1].first, pairs[i].first);
    EXPECT_LT(pairs[i - 1].second, pairs[i].second);
  }
}

TEST(Align, FindsWhatIsEqualAroundAnEdit) {
  const std::vector<uint64_t> a{1, 2, 3, 3, 3, 4, 5}, b{1, 2, 3, 3, 9, 3, 4, 5};
  const IndexPairs pairs = align(a, b);
  expect_valid(a, b, pairs);
  EXPECT_EQ(pairs.size(), a.size());
  EXPECT_TRUE(align({}, b).empty());
  EXPECT_EQ(align(a, a).size(), a.size());
}

// align() pairs unique elements of a part first. This may lose some pairs if other elements repeat.
TEST(Align, IsNearlyAsLongAsCanBe) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<uint64_t> a, b;
    for (unsigned i = 0; i < 12 + random() % 12; ++i) a.push_back(random() % 3);
    b = a;
    for (int edit = 0; edit < 5; ++edit) {
      const size_t at = random() % b.size();
      if (random() % 2 == 0)
        b.erase(b.begin() + static_cast<ptrdiff_t>(at));
      else
        b.insert(b.begin() + static_cast<ptrdiff_t>(at), random() % 3);
    }
    const IndexPairs pairs = align(a, b);
    expect_valid(a, b, pairs);
    EXPECT_GE(pairs.size() + 6, longest(a, b)) << round;
  }
}

TEST(Align, EndsWhereNothingIsAlike) {
  std::vector<uint64_t> a, b;
  for (uint64_t i = 0; i < 20000; ++i) {
    a.push_back(i % 7);
    b.push_back(i % 7 + (i % 3 == 0 ? 100 : 0));
  }
  expect_valid(a, b, align(a, b));
}

}  // namespace
}  // namespace pt2
