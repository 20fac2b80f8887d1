#include "kernels/attention.h"

#include <limits>

#include "kernels/dtypes/halves.h"
#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

using test::Random;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Case {
  Attention shape;
  std::vector<float> query, key, value, mask, out, scratch;
  std::vector<uint16_t> key_halves, value_halves;

  Case(Random& random, int64_t queries, int64_t keys, bool masked) {
    shape.batch = random.whole(1, 2);
    shape.key_heads = random.whole(1, 2);
    shape.heads = shape.key_heads * random.whole(1, queries == 1 ? 9 : 2);
    shape.queries = queries;
    shape.keys = keys;
    shape.depth = random.whole(1, 40);
    shape.value_depth = random.whole(1, 40);
    shape.scale = random.number(0.1f, 1);
    shape.causal = !masked && random.whole(0, 1) == 1;
    shape.causal_offset = random.whole(-2, 5);
    shape.query = lay_out(random, query, shape.heads, queries, shape.depth);
    shape.key = lay_out(random, key, shape.key_heads, keys, shape.depth);
    shape.value = lay_out(random, value, shape.key_heads, keys, shape.value_depth);
    if (masked) add_mask(random);
    shape.halves = static_cast<Rounding>(random.whole(0, 2));
    if (shape.halves != Rounding::none) {
      round_to_halves(shape.key, key, key_halves);
      round_to_halves(shape.value, value, value_halves);
      // The kernel takes floats with rounded numbers.
      std::vector<uint16_t> query_halves;
      Heads unused;
      round_to_halves(unused, query, query_halves);
    }
    // The result is [batch, query, head, element], as in models that transpose it back.
    shape.out_head_stride = shape.value_depth;
    shape.out_row_stride = shape.heads * shape.out_head_stride;
    shape.out_batch_stride = queries * shape.out_row_stride;
    out.assign(static_cast<size_t>(shape.batch * shape.out_batch_stride), NAN);
    shape.out = out.data();
  }

  Heads lay_out(Random& random, std::vector<float>& data, int64_t heads, int64_t rows,
                int64_t elements) const {
    Heads view;
    if (random.whole(0, 1) == 1) {  // [batch, row, head, element]
      view.head_stride = elements;
      view.row_stride = heads * elements + random.whole(0, 2);
      view.batch_stride = rows * view.row_stride;
    } else {
      view.row_stride = elements + random.whole(0, 2);
      view.head_stride = rows * view.row_stride;
      view.batch_stride = heads * view.head_stride;
    }
    data = random.numbers(shape.batch * view.batch_stride, -2, 2);
    view.data = data.data();
    return view;
  }

  // Rounds the data to 16 bits, and widens it back for the plain loop.
  void round_to_halves(Heads& heads, std::vector<float>& data,
                       std::vector<uint16_t>& halves) const {
    const bool is_half = shape.halves == Rounding::half;
    const auto count = static_cast<int64_t>(data.size());
    halves.resize(data.size());
    (is_half ? float_to_half : float_to_bfloat16)(data.data(), count, halves.data());
    (is_half ? half_to_float : bfloat16_to_float)(halves.data(), count, data.data());
    heads.halves = halves.data();
  }

  void add_mask(Random& random) {
    shape.mask.row_stride = random.whole(0, 3) == 0 ? 0 : shape.keys;
    const int64_t rows = shape.mask.row_stride == 0 ? 1 : shape.queries;
    shape.mask.batch_stride = rows * shape.keys;  // all heads share one mask
    mask = random.numbers(shape.batch * shape.mask.batch_stride);
    for (float& number : mask)
      if (random.whole(0, 2) == 0) number = -kInfinity;
    if (random.whole(0, 1) == 1) std::fill_n(mask.begin(), shape.keys, -kInfinity);
    shape.mask_replaces = random.whole(0, 1) == 1;
    for (float& number : mask)
      if (shape.mask_replaces && random.whole(0, 1) == 1) number = 0;
    shape.mask.data = mask.data();
  }

  void run(ThreadPool* pool = nullptr) {
    scratch.assign(static_cast<size_t>(attention_scratch_size(shape, thread_count(pool))), NAN);
    attend(shape, scratch.data(), pool);
  }

  static const float* row_of(const Heads& heads, int64_t batch, int64_t head, int64_t row) {
    return heads.data + batch * heads.batch_stride + head * heads.head_stride +
           row * heads.row_stride;
  }

  void check_row(int64_t batch, int64_t head, int64_t row) const {
    const int64_t key_head = head / (shape.heads / shape.key_heads);
    const float* q = row_of(shape.query, batch, head, row);
    std::vector<double> weights;
    double largest = -kInfinity;
    for (int64_t j = 0; j < shape.keys; ++j) {
      const float* k = row_of(shape.key, batch, key_head, j);
      double score = 0;
      for (int64_t i = 0; i < shape.depth; ++i) score += double{q[i]} * k[i];
      score *= shape.scale;
      const float masked = shape.mask.data == nullptr ? 0 : row_of(shape.mask, batch, head, row)[j];
      score = shape.mask_replaces && masked != 0 ? masked : score + masked;
      if (shape.causal && j > row + shape.causal_offset) score = -kInfinity;
      weights.push_back(score);
      largest = std::max(largest, score);
    }
    double total = 0;
    for (double& weight : weights) {
      weight = std::isinf(largest) ? 0 : std::exp(weight - largest);
      total += weight;
    }
    for (int64_t i = 0; i < shape.value_depth; ++i) {
      double expected = 0;
      for (int64_t j = 0; j < shape.keys; ++j)
        expected += weights[static_cast<size_t>(j)] * row_of(shape.value, batch, key_head, j)[i];
      if (total != 0) expected /= total;
      const float found = shape.out[batch * shape.out_batch_stride + head * shape.out_head_stride +
                                    row * shape.out_row_stride + i];
      ASSERT_TRUE(test::close_to(found, expected, 2e-5))
          << "row " << row << " element " << i << ": " << found << ", expected " << expected;
    }
  }

  void check() const {
    for (int64_t batch = 0; batch < shape.batch; ++batch)
      for (int64_t head = 0; head < shape.heads; ++head)
        for (int64_t row = 0; row < shape.queries; ++row) check_row(batch, head, row);
  }
};

TEST(AttentionTest, EqualsAPlainLoop) {
  test::on_every_target([] {
    Random random(1);
    for (int i = 0; i < 40; ++i) {
      Case plain(random, random.whole(1, i % 4 == 0 ? 5 : 150), random.whole(1, 100), i % 2 == 0);
      plain.run();
      plain.check();
    }
  });
}

TEST(AttentionTest, OneQueryOfHeadsThatShareKeys) {
  test::on_every_target([] {
    Random random(4);
    for (int i = 0; i < 20; ++i) {
      Case plain(random, 1, random.whole(1, 700), i % 2 == 0);
      plain.run();
      plain.check();
    }
  });
}

TEST(AttentionTest, ManyKeysAreTakenInBlocks) {
  test::on_every_target([] {
    Random random(2);
    for (const int64_t queries : {3, 70})
      for (const bool masked : {false, true}) {
        Case plain(random, queries, 1100, masked);
        plain.run();
        plain.check();
        Case causal(random, queries, 1100, false);
        causal.shape.causal = true;
        causal.shape.causal_offset = 1100 - queries;
        causal.run();
        causal.check();
      }
  });
}

TEST(AttentionTest, KeysOfNoQueryAreNotRead) {
  test::on_every_target([] {
    Random random(5);
    for (const int64_t queries : {1, 3, 200}) {
      Case plain(random, queries, 1700, true);
      plain.shape.halves = Rounding::none;
      plain.shape.key.halves = plain.shape.value.halves = nullptr;
      plain.mask.assign(static_cast<size_t>(plain.shape.batch * queries * 1700), -kInfinity);
      plain.shape.mask = {
          .data = plain.mask.data(), .batch_stride = queries * 1700, .row_stride = 1700};
      for (int64_t row = 0; row < plain.shape.batch * queries; ++row)
        std::fill_n(plain.mask.begin() + row * 1700 + 30, 100, 0.0f);
      const std::vector<float> values = plain.value;
      // Values after the first block of keys are NaN. For few queries, values outside of keys 30 to
      // 129 are NaN as well.
      const bool few = queries < 4;
      for (int64_t batch = 0; batch < plain.shape.batch; ++batch)
        for (int64_t head = 0; head < plain.shape.key_heads; ++head)
          for (int64_t row = 0; row < 1700; ++row)
            if (row >= 512 || (few && (row < 30 || row >= 130)))
              std::fill_n(plain.value.begin() + (Case::row_of(plain.shape.value, batch, head, row) -
                                                 plain.value.data()),
                          plain.shape.value_depth, NAN);
      plain.run();
      std::copy(values.begin(), values.end(), plain.value.begin());
      plain.check();
    }
  });
}

TEST(AttentionTest, EqualToTheBitForAnyNumberOfThreads) {
  ThreadPool pool(3);
  test::on_every_target([&] {
    Random random(3);
    for (int i = 0; i < 8; ++i) {
      Case plain(random, random.whole(1, 600), random.whole(1, 700), i % 2 == 0);
      plain.run();
      const std::vector<float> alone = plain.out;
      plain.run(&pool);
      ASSERT_TRUE(test::equal_bits(plain.out, alone));
    }
  });
}

}  // namespace
}  // namespace pt2::kernels
