#include "base/hash/sha256.h"

#include <gtest/gtest.h>

namespace pt2 {
namespace {

std::string hex_of(std::string_view text) {
  Sha256 sum;
  sum.add(text);
  return sum.hex();
}

// The examples of FIPS 180-4.
TEST(Sha256, GivesTheStandardsExamples) {
  EXPECT_EQ(hex_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex_of(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// The digest does not depend on how the text is cut into pieces.
TEST(Sha256, TakesPiecesOfEverySize) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  for (size_t piece = 1; piece < 130; ++piece) {
    Sha256 sum;
    for (size_t at = 0; at < text.size(); at += piece)
      sum.add(std::string_view(text).substr(at, piece));
    EXPECT_EQ(sum.hex(), hex_of(text)) << piece;
  }
}

}  // namespace
}  // namespace pt2
