// Sampling: which tokens the settings allow, and how often each is drawn.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "pt2/decoder.h"

namespace pt2 {
namespace {

std::map<int64_t, int> counts(const Sampling& sampling, const std::vector<float>& logits,
                              int draws = 4000) {
  Sampler sampler(sampling);
  std::map<int64_t, int> out;
  for (int i = 0; i < draws; ++i) ++out[sampler.draw(logits)];
  return out;
}

const std::vector<float> kLogits = {std::log(1.f), std::log(2.f), std::log(4.f), std::log(1.f)};

TEST(Sampling, ZeroTemperatureGivesTheFirstOfTheMostLikely) {
  const std::vector<float> logits = {1, 5, 3, 5};
  EXPECT_EQ(counts({}, logits, 10), (std::map<int64_t, int>{{1, 10}}));
}

TEST(Sampling, NanIsLeastLikely) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Sampler(Sampling{}).draw(std::vector<float>{nan, -3, nan}), 1);
  EXPECT_EQ(Sampler({.temperature = 1}).draw(std::vector<float>{nan, -3, nan}), 1);
  EXPECT_EQ(Sampler({.temperature = 1}).draw(std::vector<float>{nan, nan}), 0);
}

TEST(Sampling, DrawsAsOftenAsTokensAreLikely) {
  const auto found = counts({.temperature = 1, .seed = 3}, kLogits, 8000);
  EXPECT_NEAR(found.at(0), 1000, 120);
  EXPECT_NEAR(found.at(1), 2000, 160);
  EXPECT_NEAR(found.at(2), 4000, 180);
  EXPECT_NEAR(found.at(3), 1000, 120);
}

TEST(Sampling, TemperatureDividesLogits) {
  // A temperature of 0.5 squares the likelihoods: 1, 4, 16, 1.
  const auto found = counts({.temperature = 0.5, .seed = 3}, kLogits, 8800);
  EXPECT_NEAR(found.at(2), 6400, 180);
  EXPECT_NEAR(found.at(1), 1600, 160);
}

TEST(Sampling, TopKKeepsEqualOnes) {
  const auto two = counts({.temperature = 1, .top_k = 2}, kLogits);
  EXPECT_EQ(two.size(), 2u);
  EXPECT_TRUE(two.contains(1) && two.contains(2));
  // Tokens 0 and 3 are equally likely and share the third place, so both are kept.
  EXPECT_EQ(counts({.temperature = 1, .top_k = 3}, kLogits).size(), 4u);
}

TEST(Sampling, TopPKeepsTheFewestThatAreLikelyEnough) {
  // The probabilities are 4/8, 2/8, 1/8 and 1/8.
  EXPECT_EQ(counts({.temperature = 1, .top_p = 0.4}, kLogits).size(), 1u);
  EXPECT_EQ(counts({.temperature = 1, .top_p = 0.6}, kLogits).size(), 2u);
  EXPECT_EQ(counts({.temperature = 1, .top_p = 0.8}, kLogits).size(), 3u);
  EXPECT_EQ(counts({.temperature = 1, .top_p = 1}, kLogits).size(), 4u);
  EXPECT_EQ(counts({.temperature = 1, .top_p = 1e-9}, kLogits).size(), 1u);
}

TEST(Sampling, SeedsSayWhatIsDrawn) {
  const auto draw = [](uint64_t seed) {
    Sampler sampler({.temperature = 1, .seed = seed});
    std::vector<int64_t> out;
    for (int i = 0; i < 20; ++i) out.push_back(sampler.draw(kLogits));
    return out;
  };
  EXPECT_EQ(draw(5), draw(5));
  EXPECT_NE(draw(5), draw(6));
}

TEST(Sampling, OfNoLogitsNoneIsDrawn) {
  EXPECT_EQ(Sampler({}).draw({}), -1);
  EXPECT_EQ(Sampler({.temperature = 1, .top_k = 3, .top_p = 0.5}).draw({}), -1);
}

}  // namespace
}  // namespace pt2
