// Matrix-vector products with any strides, compared with plain loops; products with packed weights;
// products of several operands in a given order; gradients of attention.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/loops.h"

namespace pt2::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class C>
std::vector<C> elements_of(const Tensor& tensor) {
  Tensor wide = Tensor::zeros(kDtypeOf<C>, tensor.sizes());
  copy_elements(wide, tensor);
  return {wide.as<C>().begin(), wide.as<C>().end()};
}

// The memory layout of an operand.
enum class Lying : uint8_t { densely, turned, apart, all_one, unaligned };

Tensor operand(std::mt19937& random, Dtype dtype, const Sizes& sizes, Lying lying, bool special) {
  const bool is_whole = dtype_category(dtype) < DtypeCategory::floating;
  std::vector<double> numbers(static_cast<size_t>(*checked_numel(sizes)));
  for (double& number : numbers)
    number = is_whole ? std::uniform_int_distribution<int>(-2'000'000'000, 2'000'000'000)(random)
                      : std::normal_distribution<double>()(random);
  if (special && !is_whole && !numbers.empty()) {
    numbers[numbers.size() / 2] = kInfinity;
    numbers[numbers.size() / 3] = NAN;
  }
  const Tensor dense = Tensor::zeros(dtype, sizes);
  Tensor filled = dense;
  copy_elements(filled,
                Tensor::from<double>(Dtype::float64, sizes, std::span<const double>(numbers)));
  if (lying == Lying::densely || sizes.empty()) return filled;
  Sizes room = sizes, strides;
  if (lying == Lying::apart) room.push_back(3);
  if (lying == Lying::turned) std::ranges::reverse(room);
  if (lying == Lying::all_one) return filled.with_view(sizes, Sizes(sizes.size(), 0), 0);
  if (lying == Lying::unaligned) {
    // A file may place elements at unaligned addresses.
    const auto bytes = static_cast<size_t>(filled.nbytes());
    auto memory = std::make_shared<std::vector<std::byte>>(bytes + 1);
    if (bytes > 0) std::copy_n(filled.raw_data(), bytes, memory->data() + 1);
    auto storage = Storage::borrow(std::span(*memory).subspan(1), memory);
    return *Tensor::view_of(std::move(storage), dtype, sizes, contiguous_strides(sizes), 0);
  }
  const Tensor wide = Tensor::zeros(dtype, room);
  strides.assign(wide.strides().begin(),
                 wide.strides().begin() + static_cast<int64_t>(sizes.size()));
  if (lying == Lying::turned) std::ranges::reverse(strides);
  Tensor out = wide.with_view(sizes, strides, 0);
  copy_elements(out, filled);
  return out;
}

// For each row of the matrix: its product with the vector, and the sum of the terms' magnitudes.
struct Sums {
  std::vector<long double> sums, sizes;
};
Sums float_sums(const Tensor& matrix, const Tensor& vector) {
  const std::vector<double> a = elements_of<double>(matrix), x = elements_of<double>(vector);
  Sums out;
  for (int64_t i = 0; i < matrix.size(0); ++i) {
    long double sum = 0, size = 0;
    for (size_t k = 0; k < x.size(); ++k) {
      const long double term =
          static_cast<long double>(a[static_cast<size_t>(i) * x.size() + k]) * x[k];
      sum += term;
      size += std::fabs(term);
    }
    out.sums.push_back(sum);
    out.sizes.push_back(size);
  }
  return out;
}
void expect_sums(const Tensor& found, const Tensor& matrix, const Tensor& vector) {
  if (dtype_category(matrix.dtype()) < DtypeCategory::floating) {
    const std::vector<int64_t> a = elements_of<int64_t>(matrix), x = elements_of<int64_t>(vector);
    Tensor expected = Tensor::zeros(Dtype::int64, {matrix.size(0)});
    for (size_t i = 0; i < static_cast<size_t>(matrix.size(0)); ++i) {
      uint64_t sum = 0;
      for (size_t k = 0; k < x.size(); ++k)
        sum += static_cast<uint64_t>(a[i * x.size() + k]) * static_cast<uint64_t>(x[k]);
      expected.data<int64_t>()[i] = static_cast<int64_t>(sum);
    }
    Tensor wrapped = Tensor::zeros(matrix.dtype(), expected.sizes());
    copy_elements(wrapped, expected);
    ASSERT_EQ(elements_of<int64_t>(found), elements_of<int64_t>(wrapped));
    return;
  }
  const Sums expected = float_sums(matrix, vector);
  const std::vector<double> numbers = elements_of<double>(found);
  const double room = found.dtype() == Dtype::float64    ? 1e-14
                      : found.dtype() == Dtype::bfloat16 ? 5e-3
                      : found.dtype() == Dtype::float16  ? 1e-3
                                                         : 2e-6;
  ASSERT_EQ(numbers.size(), expected.sums.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (std::isnan(expected.sums[i])) {
      ASSERT_TRUE(std::isnan(numbers[i]));
    } else if (std::isinf(expected.sums[i])) {
      ASSERT_EQ(numbers[i], static_cast<double>(expected.sums[i]));
    } else {
      ASSERT_LE(std::fabs(numbers[i] - expected.sums[i]), room * expected.sizes[i] + 1e-30L)
          << "row " << i << " of " << matrix.type_text();
    }
  }
}

TEST(VectorProducts, AreSumsOfProducts) {
  std::mt19937 random(8);
  using enum Lying;
  for (const Dtype dtype : {Dtype::float64, Dtype::float32, Dtype::bfloat16, Dtype::float16,
                            Dtype::int64, Dtype::int32, Dtype::int16, Dtype::uint8})
    for (const int64_t depth : {0, 1, 5, 130, 1030, 2500})
      for (const int64_t lines : {0, 1, 3, 530})
        for (const Lying lying : {densely, turned, apart, all_one, unaligned}) {
          if (lines * depth > 100'000) continue;
          const bool special = std::uniform_int_distribution<int>(0, 3)(random) == 0;
          const Tensor matrix = operand(random, dtype, {lines, depth}, lying, special);
          const auto other = static_cast<Lying>(std::uniform_int_distribution<int>(0, 4)(random));
          const Tensor vector = operand(random, dtype, {depth}, other, special);
          const auto product = apply(aten<"mv.default">, {matrix, vector});
          ASSERT_TRUE(product) << product.error().text();
          ASSERT_NO_FATAL_FAILURE(expect_sums(*product, matrix, vector));
          const Tensor across = *apply(aten<"t.default">, {matrix});
          for (const auto& same : {apply(aten<"matmul.default">, {matrix, vector}),
                                   apply(aten<"matmul.default">, {vector, across})})
            ASSERT_NO_FATAL_FAILURE(expect_sums(*same, matrix, vector));
          if (lines != 1) continue;
          const Tensor row = *apply(aten<"select.int">, {matrix, 0, 0});
          for (const Handle handle : {Handle(aten<"dot.default">), Handle(aten<"vdot.default">)}) {
            const auto dot = apply(handle, {row, vector});
            ASSERT_TRUE(dot) << dot.error().text();
            ASSERT_TRUE(dot->sizes().empty());
            ASSERT_NO_FATAL_FAILURE(expect_sums(*dot, matrix, vector));
          }
        }
}

// Integer products overflow alike in the tiled kernel and in the vector kernel: they wrap around.
TEST(VectorProducts, AreTheColumnsOfMatrices) {
  std::mt19937 random(10);
  for (const Dtype dtype : {Dtype::int64, Dtype::int32, Dtype::int16, Dtype::uint8})
    for (const int64_t depth : {1, 7, 129, 300})
      for (const Lying lying : {Lying::densely, Lying::turned, Lying::apart, Lying::all_one}) {
        const Tensor matrix = operand(random, dtype, {6, depth}, lying, false);
        const Tensor other = operand(random, dtype, {depth, 11}, lying, false);
        const auto product = apply(aten<"mm.default">, {matrix, other});
        ASSERT_TRUE(product) << product.error().text();
        for (int64_t column = 0; column < 11; ++column)
          ASSERT_NO_FATAL_FAILURE(expect_sums(*apply(aten<"select.int">, {*product, 1, column}),
                                              matrix,
                                              *apply(aten<"select.int">, {other, 1, column})));
      }
}

TEST(VectorProducts, OuterOnesAreAdded) {
  std::mt19937 random(9);
  for (const Dtype dtype : {Dtype::float64, Dtype::int32, Dtype::bool_})
    for (const auto& [beta, alpha] : {std::pair<int64_t, int64_t>{1, 1}, {0, 2}, {3, -1}, {2, 0}}) {
      const Tensor self = operand(random, dtype, {5}, Lying::densely, beta == 0);
      const Tensor a = operand(random, dtype, {7}, Lying::apart, false);
      const Tensor b = operand(random, dtype, {5}, Lying::densely, false);
      const auto found =
          apply(aten<"addr.default">, {self, a, b, box(Scalar(beta)), box(Scalar(alpha))});
      ASSERT_TRUE(found) << found.error().text();
      ASSERT_EQ(found->dtype(), dtype);
      const std::vector<double> s = elements_of<double>(self), x = elements_of<double>(a),
                                y = elements_of<double>(b), all = elements_of<double>(*found);
      for (size_t i = 0; i < all.size(); ++i) {
        const double own = beta == 0 ? 0 : static_cast<double>(beta) * s[i % 5];
        const double product = static_cast<double>(alpha) * (x[i / 5] * y[i % 5]);
        if (dtype == Dtype::bool_) {
          ASSERT_EQ(all[i] != 0, own != 0 || product != 0);
        } else if (dtype == Dtype::float64) {
          ASSERT_DOUBLE_EQ(all[i], own + product);
        }
      }
      if (dtype != Dtype::int32) continue;
      const std::vector<int64_t> p = elements_of<int64_t>(self), q = elements_of<int64_t>(a),
                                 r = elements_of<int64_t>(b), wholes = elements_of<int64_t>(*found);
      for (size_t i = 0; i < wholes.size(); ++i)
        ASSERT_EQ(
            static_cast<uint32_t>(wholes[i]),
            static_cast<uint32_t>(static_cast<uint64_t>(beta) * static_cast<uint64_t>(p[i % 5]) +
                                  static_cast<uint64_t>(alpha) * static_cast<uint64_t>(q[i / 5]) *
                                      static_cast<uint64_t>(r[i % 5])));
    }
}

// Products read weights in the order in which libpt2 packs them, for every remainder of rows.
TEST(PackedProducts, TakeWeightsAsTheyArePacked) {
  constexpr int64_t kDepth = 6;
  std::vector<float> ones;
  for (int64_t i = 0; i < kDepth * kDepth; ++i) ones.push_back(i % (kDepth + 1) == 0 ? 1.0F : 0.0F);
  const Tensor unit = Tensor::from<float>(Dtype::float32, {kDepth, kDepth}, ones);
  for (int64_t rows = 16; rows <= 128; rows += 16) {
    SCOPED_TRACE(rows);
    Tensor weight = Tensor::zeros(Dtype::int32, {rows, kDepth});
    Tensor parameters = Tensor::zeros(Dtype::float32, {1, rows, 2});
    for (int64_t i = 0; i < rows; ++i) parameters.data<float>()[2 * i] = 1;
    for (int64_t i = 0; i < weight.numel(); ++i)
      weight.data<int32_t>()[i] = static_cast<int32_t>(i * i % 31 % 16);
    const auto packed = apply(aten<"_convert_weight_to_int4pack_for_cpu.default">, {weight, 2});
    ASSERT_TRUE(packed) << packed.error().text();
    const auto product =
        apply(aten<"_weight_int4pack_mm_for_cpu.default">, {unit, *packed, kDepth, parameters});
    ASSERT_TRUE(product) << product.error().text();
    for (int64_t i = 0; i < weight.numel(); ++i)
      ASSERT_EQ(product->data<float>()[i % kDepth * rows + i / kDepth],
                static_cast<float>(weight.data<int32_t>()[i] - 8));
  }
}

// Expected: the order in which PyTorch 2.15 packs weights with AVX-512.
TEST(PackedProducts, SixtyFourRowsLieInHalves) {
  Tensor weight = Tensor::zeros(Dtype::int32, {64, 2});
  weight.data<int32_t>()[1 * 2 + 0] = 5;
  weight.data<int32_t>()[34 * 2 + 1] = 7;
  const auto packed = apply(aten<"_convert_weight_to_int4pack_for_cpu.default">, {weight, 2});
  ASSERT_TRUE(packed) << packed.error().text();
  for (int64_t i = 0; i < packed->numel(); ++i)
    EXPECT_EQ(packed->data<uint8_t>()[i], i == 1 ? 0x05 : i == 32 + 2 ? 0x70 : 0) << i;
}

TEST(Bilinear, OfComplexNumbersAndLargeIntegersIsExact) {
  const auto sum = [](const Tensor& left, const Tensor& weight, const Tensor& right) {
    return apply(aten<"bilinear.default">, {left, right, weight, OptionalTensor()}).value();
  };
  const auto complex = [](const Sizes& sizes, std::vector<double> parts) {
    Sizes pairs = sizes;
    pairs.push_back(2);
    return apply(aten<"view_as_complex.default">,
                 {Tensor::from<double>(Dtype::float64, pairs, std::span<const double>(parts))})
        .value();
  };
  const Tensor found =
      sum(complex({1, 2}, {1, 0, 0, 1}), complex({1, 2, 2}, {1, 0, 0, 2, 0, 0, 3, 0}),
          complex({1, 2}, {1, 1, 2, 0}));
  EXPECT_EQ(elements_of<double>(apply(aten<"view_as_real.default">, {found}).value()),
            (std::vector<double>{1, 11}));
  const int64_t large = (int64_t{1} << 62) + 1;
  const Tensor one = Tensor::of<int64_t>({1, 1}, {1});
  EXPECT_EQ(elements_of<int64_t>(sum(Tensor::of<int64_t>({1, 1}, {large}),
                                     Tensor::of<int64_t>({1, 1, 1}, {1}), one)),
            std::vector<int64_t>{large});
}

TEST(Einsum, LaysOutItsResultAsPyTorchDoes) {
  const auto product = [](const std::string& equation, const Sizes& left, const Sizes& right) {
    const Tensors operands{Tensor::zeros(Dtype::float32, left),
                           Tensor::zeros(Dtype::float32, right)};
    return apply(aten<"einsum.default">, {equation, operands})->strides();
  };
  EXPECT_EQ(product("ab,bc->ac", {2, 3}, {3, 4}), (Sizes{4, 1}));
  EXPECT_EQ(product("ab,bc->ca", {2, 3}, {3, 4}), (Sizes{2, 1}));
  EXPECT_EQ(product("bnd,bmd->bmn", {2, 3, 5}, {2, 4, 5}), (Sizes{12, 3, 1}));
  EXPECT_EQ(product("abc,cd->adb", {2, 3, 4}, {4, 5}), (Sizes{15, 1, 5}));
  EXPECT_EQ(product("oc,nchw->nohw", {6, 3}, {2, 3, 4, 5}), (Sizes{20, 40, 5, 1}));
}

TEST(Einsum, MultipliesInTheOrderOfItsPath) {
  const Tensor large = Tensor::of<float>({1}, {0x1p100F}),
               small = Tensor::of<float>({1}, {0x1p-100F});
  const auto product = [&](const Sizes& path) {
    return apply(aten<"einsum.default">,
                 {std::string("i,i,i->i"), Tensors{large, large, small}, path});
  };
  // Left to right the first product overflows.
  EXPECT_EQ(elements_of<double>(product({0, 1, 0, 1}).value()), std::vector{kInfinity});
  EXPECT_EQ(elements_of<double>(product({2, 1, 1, 0}).value()), std::vector{0x1p100});
  for (const Sizes& path : {Sizes{}, Sizes{0, 1}, Sizes{0, 3, 0, 1}, Sizes{1, 1, 0, 1},
                            Sizes{-1, 0, 0, 1}, Sizes{0, 1, 0, 2}})
    EXPECT_FALSE(product(path));
}

// The answers are those of torch 2.15.
TEST(AttentionGradients, AddUpForQueryHeadsThatShareAKey) {
  const Tensor query = Tensor::of<float>({1, 2, 2, 2}, {1, 2, 0, -1, 0.5, 1, 2, 0}),
               key = Tensor::of<float>({1, 1, 3, 2}, {1, 0, -1, 2, 0.5, 0.5}),
               value = Tensor::of<float>({1, 1, 3, 2}, {1, 2, 3, -1, 0, 1}),
               grad = Tensor::of<float>({1, 2, 2, 2}, {1, 0, 2, 1, -1, 1, 0.5, 2});
  const auto forward = apply_all(aten<"_scaled_dot_product_flash_attention_for_cpu.default">,
                                 {query, key, value, 0.0, true});
  ASSERT_TRUE(forward) << forward.error().message;
  const auto gradients = [&](const Tensor& keys) {
    return apply_all(aten<"_scaled_dot_product_flash_attention_for_cpu_backward.default">,
                     {grad, query, keys, value, (*forward)[0], (*forward)[1], 0.0, true});
  };
  const auto all = gradients(key);
  ASSERT_TRUE(all) << all.error().message;
  const std::vector<double> expected[] = {
      {0, 0, -0.2224878, 0.2224877, 0, 0, 0.3725942, -0.3725942},
      {0.3725941, 0.1112439, -0.3725943, -0.1112438, 0, 0},
      {2.0809557, 3.6928153, 0.4190443, 0.3071848, 0, 0}};
  for (size_t i = 0; i < std::size(expected); ++i) {
    const auto found = elements_of<double>(*(*all)[i].get_if<Tensor>());
    ASSERT_EQ(found.size(), expected[i].size());
    for (size_t at = 0; at < found.size(); ++at) EXPECT_NEAR(found[at], expected[i][at], 1e-5);
  }
  EXPECT_EQ((*all)[0].get_if<Tensor>()->strides(), (Sizes{8, 2, 4, 1}));
  // Two heads cannot share three.
  EXPECT_FALSE(gradients(Tensor::zeros(Dtype::float32, {1, 3, 3, 2})));
}

}  // namespace
}  // namespace pt2::ops
