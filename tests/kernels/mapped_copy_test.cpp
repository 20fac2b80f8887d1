#include "kernels/dtypes/mapped_copy.h"

#include <numeric>

#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

using test::Random;

// Returns source indices for one dimension: arbitrary, consecutive, or with padding at the ends.
std::vector<int64_t> some_places(Random& random, int64_t span) {
  std::vector<int64_t> out(static_cast<size_t>(random.whole(1, random.whole(0, 3) == 0 ? 90 : 7)));
  const int64_t kind = random.whole(0, 4), size = std::ssize(out);
  for (int64_t i = 0; i < size; ++i) {
    int64_t& place = out[static_cast<size_t>(i)];
    if (kind == 0) place = random.whole(0, span);
    if (kind == 1) place = i % (span + 1);
    if (kind == 2) place = span - i % (span + 1);
    if (kind == 3) place = i / 2 % (span + 1);
    if (kind == 4) place = i < 2 || i > size - 2 ? kNowhere : (i - 2) % (span + 1);
  }
  return out;
}

void check(Random& random, int64_t bytes, ThreadPool* pool) {
  constexpr int64_t kSpan = 6;
  MappedCopy::Places places;
  for (int64_t rank = random.whole(0, 4); rank > 0; --rank)
    places.push_back(some_places(random, kSpan));
  const int64_t most = std::ssize(places) * kSpan + 1;
  std::vector<std::byte> from(static_cast<size_t>(most * bytes));
  for (std::byte& byte : from) byte = static_cast<std::byte>(random.whole(1, 200));
  std::array<std::byte, 16> filler;
  filler.fill(static_cast<std::byte>(0xee));
  int64_t count = 1;
  for (const auto& dim : places) count *= std::ssize(dim);
  std::vector<std::byte> out(static_cast<size_t>(count * bytes));
  MappedCopy(places, bytes, filler).run(from.data(), out.data(), pool);
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, place = 0;
    bool is_there = true;
    for (size_t dim = places.size(); dim-- > 0;) {
      const int64_t size = std::ssize(places[dim]);
      const int64_t more = places[dim][static_cast<size_t>(rest % size)];
      is_there = is_there && more != kNowhere;
      place += is_there ? more : 0;
      rest /= size;
    }
    const std::byte* expected = is_there ? from.data() + place * bytes : filler.data();
    ASSERT_EQ(std::memcmp(out.data() + i * bytes, expected, static_cast<size_t>(bytes)), 0) << i;
  }
}

TEST(MappedCopyTest, ElementsComeFromTheirPlaces) {
  ThreadPool pool(3);
  Random random(1);
  for (int i = 0; i < 150; ++i)
    for (const int64_t bytes : {1, 2, 4, 8, 16}) check(random, bytes, i % 2 == 0 ? &pool : nullptr);
}

TEST(MappedCopyTest, NothingIsCopiedWhereADimensionIsEmpty) {
  std::byte to{7};
  MappedCopy({{0, 1}, {}}, 1).run(nullptr, &to);
  EXPECT_EQ(to, std::byte{7});
}

}  // namespace
}  // namespace pt2::kernels
