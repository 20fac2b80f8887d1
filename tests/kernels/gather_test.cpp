#include "kernels/gather.h"

#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

using test::Random;

template <class Index>
void check(Random& random, ThreadPool* pool) {
  const int64_t columns = random.whole(0, 300), stride = columns + random.whole(0, 5),
                table_rows = random.whole(1, 40), rows = random.whole(0, 500);
  const std::vector<float> table = random.numbers(table_rows * stride);
  std::vector<Index> indices;
  for (int64_t i = 0; i < rows; ++i)
    indices.push_back(static_cast<Index>(random.whole(0, table_rows - 1)));
  std::vector<float> out(static_cast<size_t>(rows * columns), 7.0f);
  constexpr int64_t kBytes = sizeof(float);
  const Gathering gathering{.rows = rows,
                            .row_bytes = columns * kBytes,
                            .table = reinterpret_cast<const std::byte*>(table.data()),
                            .table_rows = table_rows,
                            .table_stride = stride * kBytes,
                            .out = reinterpret_cast<std::byte*>(out.data())};
  ASSERT_TRUE(gather_rows(gathering, indices.data(), pool));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t c = 0; c < columns; ++c) {
      const int64_t index = indices[static_cast<size_t>(i)];
      ASSERT_EQ(out[static_cast<size_t>(i * columns + c)],
                table[static_cast<size_t>(index * stride + c)]);
    }
  if (rows == 0) return;
  const auto place = static_cast<size_t>(random.whole(0, rows - 1));
  for (const int64_t wrong : {table_rows, int64_t{-1}}) {
    indices[place] = static_cast<Index>(wrong);
    ASSERT_FALSE(gather_rows(gathering, indices.data(), pool)) << wrong;
  }
}

TEST(GatherTest, RowsAreThoseOfTheTable) {
  ThreadPool pool(3);
  Random random(1);
  for (int i = 0; i < 40; ++i) {
    check<int32_t>(random, i % 2 == 0 ? &pool : nullptr);
    check<int64_t>(random, i % 2 == 0 ? &pool : nullptr);
  }
}

}  // namespace
}  // namespace pt2::kernels
