#include "archive/crc32.h"

#include <gtest/gtest.h>
#include <libdeflate.h>

#include <random>
#include <vector>

#include "upper_halves.h"

namespace pt2 {
namespace {

TEST(Crc32, EqualsLibdeflateAtEveryLengthAndOffset) {
  std::vector<std::byte> bytes(4096);
  std::mt19937 random(0);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  for (size_t offset = 0; offset < 3; ++offset)
    for (size_t size = 0; size + offset <= bytes.size(); size += size < 1100 ? 1 : 97) {
      const std::span<const std::byte> part = std::span(bytes).subspan(offset, size);
      const auto start = static_cast<uint32_t>(random());
      ASSERT_EQ(crc32(start, part), libdeflate_crc32(start, part.data(), part.size()))
          << offset << " " << size;
    }
}

// Intel's processors run the code after it up to ten times slower otherwise.
TEST(Crc32, LeavesNoUpperHalvesInUse) {
  const std::vector<std::byte> bytes(5000);
  crc32(0, bytes);
  EXPECT_FALSE(test::upper_halves_in_use().value_or(false));
}

TEST(Crc32, ContinuesWhereItStopped) {
  std::vector<std::byte> bytes(5000, std::byte{0x5A});
  const uint32_t whole = crc32(0, bytes);
  for (size_t cut = 0; cut <= bytes.size(); cut += 123)
    EXPECT_EQ(crc32(crc32(0, std::span(bytes).first(cut)), std::span(bytes).subspan(cut)), whole)
        << cut;
}

TEST(Crc32, OfZerosAndOfTwoPartsIsThatOfTheWhole) {
  std::vector<std::byte> bytes(70000, std::byte{0x5A});
  std::fill(bytes.begin() + 999, bytes.end(), std::byte{0});
  for (const size_t size : {999, 1000, 1007, 1256, 4095, 65536, 70000}) {
    const auto start = std::span(bytes).first(999), whole = std::span(bytes).first(size);
    EXPECT_EQ(crc32_of_zeros(crc32(0, start), size - 999), crc32(0, whole)) << size;
    const auto rest = whole.subspan(99);
    EXPECT_EQ(combine_crc32(crc32(0, whole.first(99)), crc32(0, rest), rest.size()),
              crc32(0, whole))
        << size;
  }
}

}  // namespace
}  // namespace pt2
